"""Reports built by hand: short constructors, and one report for each thing that a report can tell."""

from __future__ import annotations

from dataclasses import replace

from tapetrace.analysis.remedies import Situation, remedy_for
from tapetrace.model.graph import GraphEdge, GraphNode, ReportGraph, Role, Status
from tapetrace.model.locations import Frame, Location
from tapetrace.model.report import Agreement, BlindSpot, Break, CallResult, Finding, Numbers, Report, RootCause, SourceResult, TargetResult
from tapetrace.model.trace import TraceError
from tapetrace.model.words import Cause, Returned, Verdict


def at(line: int, code: str = "", file: str = "samples/step.py", function: str = "train_step") -> Location:
    return Location.new(file, line, function, code)


def source(path: str, verdict: Verdict = Verdict.CONNECTED, *breaks: Break, kind: str = "variable", numbers: Numbers | None = None) -> SourceResult:
    returned = {Verdict.NONE: Returned.NONE, Verdict.ERROR: Returned.ERROR}.get(verdict, Returned.TENSOR)
    route = (path, *(b.op for b in breaks if b.op), "loss")
    return SourceResult(path.rpartition("/")[2], path, kind, "float32", (2, None), verdict, returned, breaks, route, numbers)


def call(*sources: SourceResult, line: int = 36, error: TraceError | None = None) -> CallResult:
    where = at(line, "grads = tape.gradient(loss, model.trainable_variables)")
    return CallResult("gradient", where, (TargetResult("loss", "Mean", at(line - 1, "loss = tf.reduce_mean(y)")),), sources, error)


def report(*calls: CallResult, root_causes: tuple[RootCause, ...] = (), checked: int | None = None, graph: ReportGraph | None = None) -> Report:
    agreement = Agreement(sum(len(c.sources) for c in calls) if checked is None else checked)
    found = graph or ReportGraph()
    return Report("samples/step.py:train_step", "2.21.0", "3.15.1", "graph", calls, root_causes, agreement=agreement, build_graph=lambda: found)


def one_cause(cause: Cause, location: Location | None, *paths: str, op: str = "", type_: str = "", verdict: Verdict = Verdict.NONE) -> Report:
    """A step of one call in which one place keeps gradient from all of ``paths``, and two more variables are connected."""
    remedy = remedy_for(Situation(cause, op_type=type_, location=location))
    b = Break(cause, op, type_, location, remedy, root_cause=1)
    root = RootCause(1, cause, location, ((op, type_),) if op else (), paths, paths, remedy)
    return report(call(*(source(p, verdict, b) for p in paths), source("dec/kernel"), source("dec/bias")), root_causes=(root,))


LAYERS = [f"{layer}/{weight}" for layer in ("enc", "mu", "logvar", "dec") for weight in ("kernel", "bias")]


def outside_tape() -> Report:
    """The VAE whose forward pass stands before the tape."""
    location = Location(
        Frame("samples/vae.py", 33, "train_step", "rec, mu, lv = vae(x, training=True)"), (Frame("samples/fit.py", 7, "main", "train_step(x)"),)
    )
    remedy = remedy_for(
        Situation(Cause.OUTSIDE_TAPE, location=location, tape_opened=Frame("samples/vae.py", 34, "train_step"), tape_closed_after=False)
    )
    b = Break(Cause.OUTSIDE_TAPE, "vae/dec/MatMul", "MatMul", location, remedy, root_cause=1)
    root = RootCause(1, Cause.OUTSIDE_TAPE, location, (("vae/dec/MatMul", "MatMul"),), tuple(LAYERS), tuple(LAYERS), remedy, dominates=True)
    return replace(report(call(*(source(p, Verdict.NONE, b) for p in LAYERS)), root_causes=(root,)), target="samples/vae.py:train_step", keras="")


def in_series() -> Report:
    """Two breaks on the way of one variable, one of them alone on the way of another; zeros without a warning."""
    rounded = at(12, "q = tf.round(kernel)")
    stopped = Location(
        Frame("samples/step.py", 20, "call", "return tf.stop_gradient(y)"), (), Frame("/v/site-packages/keras/src/layers/layer.py", 9, "call")
    )
    first = Break(Cause.GRADIENT_IS_NONE, "Round", "Round", rounded, remedy_for(Situation(Cause.GRADIENT_IS_NONE, "Round")), root_cause=2)
    last = Break(Cause.STOP_GRADIENT, "StopGradient", "StopGradient", stopped, remedy_for(Situation(Cause.STOP_GRADIENT)), root_cause=1)
    roots = (
        RootCause(1, Cause.STOP_GRADIENT, stopped, (("StopGradient", "StopGradient"),), ("q/kernel", "q/bias"), ("q/bias",), last.remedy),
        RootCause(2, Cause.GRADIENT_IS_NONE, rounded, (("Round", "Round"),), ("q/kernel",), (), first.remedy, "rounds the kernel"),
    )
    return report(call(source("q/kernel", Verdict.NONE, first, last), source("q/bias", Verdict.ZERO, last), source("out/kernel")), root_causes=roots)


def escaped() -> Report:
    """A value that left for NumPy on one line and came back on another."""
    left, again = at(8, "n = a.numpy()"), at(10, "b = tf.constant(np.tanh(n))", function="squash")
    remedy = remedy_for(Situation(Cause.NUMPY_ESCAPE, location=left))
    b = Break(Cause.NUMPY_ESCAPE, "Captured_1", "Captured", left, remedy, reenters=again, root_cause=1)
    root = RootCause(1, Cause.NUMPY_ESCAPE, left, (("Captured_1", "Captured"),), ("w",), ("w",), remedy, reenters=again)
    return report(call(source("w", Verdict.NONE, b), source("v")), root_causes=(root,))


def branches() -> Report:
    """Two heads of which a condition takes one."""
    where = at(20, "if tf.reduce_mean(x) > 0.0:")

    def head(name: str, branch: str) -> SourceResult:
        remedy = remedy_for(Situation(Cause.OTHER_BRANCH, branch=branch, condition="Greater"))
        b = Break(Cause.OTHER_BRANCH, "cond", "If", where, remedy, f"live only in branch {branch} of If, decided by Greater")
        return source(name, Verdict.CONDITIONAL, b)

    return report(call(head("easy/kernel", "true"), head("hard/kernel", "false"), source("trunk/kernel")))


def never_read() -> Report:
    """A variable that the step does not read, suspects, findings, notes, and a tensor that only Python decides about."""
    unread = Break(Cause.NEVER_READ, location=at(4, "self.pool = Dense(3)", function="build"), remedy=remedy_for(Situation(Cause.NEVER_READ)))
    python = Break(Cause.PYTHON_FUNCTION, "EagerPyFunc", "EagerPyFunc", at(9, "tf.py_function(f, [x], tf.float32)"), "write it with `tf.` functions")
    base = report(call(source("pool/kernel", Verdict.NONE, unread), source("x", Verdict.OPAQUE, python, kind="tensor")))
    return replace(
        base,
        mode="eager",
        not_asked=(Finding("offset", "chain/offset", at(6, "self.offset = tf.Variable(0.0)", function="__init__")),),
        not_applied=(Finding("kernel", "out/kernel", None),),
        blind_spots=(
            BlindSpot("Const_3", "Captured", at(8, "loss = tf.reduce_sum(kept)"), "float32", (4, None)),
            BlindSpot("numpy_function", "PyFunc", None),
        ),
        notes=("the step was run eagerly, since tracing it failed",),
    )


def raised() -> Report:
    """An op without a gradient, which made the call raise, and a step that raised after it."""
    base = one_cause(
        Cause.NO_GRADIENT_REGISTERED,
        at(15, "x = tf.image.adjust_contrast(x, 2.0)"),
        "c1/kernel",
        op="Adjust",
        type_="AdjustContrastv2",
        verdict=Verdict.ERROR,
    )
    error = TraceError("LookupError", "No gradient defined for operation 'Adjust' (op type: AdjustContrastv2)", at(36))
    failed = TraceError("ValueError", "No gradients provided for any variable.\nExpected one of [c1/kernel]", at(37, "opt.apply(grads)"))
    return replace(base, calls=(replace(base.calls[0], error=error),), error=failed)


def connected() -> Report:
    return report(call(*(source(p) for p in LAYERS[:6])))


def disagreeing() -> Report:
    return replace(connected(), agreement=Agreement(6, ("enc/kernel: verdict connected, but tape.gradient returned None",)))


def hostile_names() -> Report:
    """Names with markup, control characters and other scripts, and numbers that are not finite."""
    b = Break(Cause.NEVER_READ, location=at(3, "x = '[red]'\t# [/]"), remedy="use [it]")
    numbers = Numbers(float("nan"), 1, 2, 3)
    return report(call(source("[bold]w[/bold]\x1b[31m\u202e", Verdict.NONE, b), source("größe:emoji:", numbers=numbers)))


def small_graph() -> ReportGraph:
    where = at(12, "q = tf.round(kernel)")
    return ReportGraph(
        (
            GraphNode("kernel", "Variable", Status.DEAD, Role.SOURCE, label="q/kernel", dtype="float32", shape=(2, None), location=where),
            GraphNode(
                "q/Round", "Round", Status.BREAK, cause=Cause.GRADIENT_IS_NONE, number=2, scope="q", label="Round", location=where, calls=(0, 1)
            ),
            GraphNode("loss", "Mean", Status.LIVE, Role.TARGET),
        ),
        (GraphEdge("kernel", "q/Round", Status.BREAK, Cause.GRADIENT_IS_NONE), GraphEdge("q/Round", "loss")),
    )


EXAMPLES = {f.__name__: f for f in (outside_tape, in_series, escaped, branches, never_read, raised, connected, disagreeing, hostile_names)}
