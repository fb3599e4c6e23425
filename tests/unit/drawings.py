"""Reports made by hand, as the pictures' tests and examples need them: no TensorFlow, no capture, no analysis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tapetrace.model.graph import GraphEdge, GraphNode, ReportGraph, Role, Status
from tapetrace.model.locations import Frame, Location
from tapetrace.model.report import Break, CallResult, Report, RootCause, SourceResult, TargetResult
from tapetrace.model.words import Cause, Returned, Verdict

LIVE, DEAD, BREAK = Status.LIVE, Status.DEAD, Status.BREAK


class Drawing:
    """Collects nodes and edges in a topological order."""

    def __init__(self) -> None:
        self.nodes: list[GraphNode] = []
        self.edges: list[GraphEdge] = []
        self.status: dict[str, Status] = {}

    def source(
        self, label: str, status: Status = LIVE, *, scope: str = "", calls: tuple[int, ...] = (0,), number: int = 0, cause: Cause | None = None
    ) -> str:
        node = GraphNode(label, "Variable", status, Role.SOURCE, cause, number, scope, label, "float32", (8, None), calls=calls)
        self.nodes.append(node)
        self.status[label] = status
        return label

    def op(
        self, name: str, type: str, after: Iterable[str], status: Status = LIVE, location: Location | None = None, *,
        role: Role = Role.OP, cause: Cause | None = None, number: int = 0, calls: tuple[int, ...] = (0,), scope: str | None = None,
        shut: Cause | None = None,
    ) -> str:  # fmt: skip
        scope = name.rpartition("/")[0] if scope is None else scope
        self.nodes.append(GraphNode(name, type, status, role, cause, number, scope, name.rpartition("/")[2], "float32", (None, 8), location, calls))
        self.status[name] = status
        of = self.status
        for tail in after:
            if shut is not None:
                self.edges.append(GraphEdge(tail, name, BREAK, shut))
                continue
            # The way back from a break is shut; the way into what is live from what is dead cannot be.
            edge = BREAK if status is BREAK and of[tail] is not LIVE else of[tail] if of[tail] is not BREAK else status
            self.edges.append(GraphEdge(tail, name, edge, cause if edge is BREAK else None))
        return name

    def graph(self) -> ReportGraph:
        return ReportGraph(tuple(self.nodes), tuple(sorted(self.edges, key=lambda e: (e.tail, e.head))))


def report_of(
    drawing: Drawing, target: str = "samples/vae.py:train_step", *, causes: Sequence[RootCause] = (), locations: Sequence[Location | None] = (None,)
) -> Report:
    """A report whose calls and sources follow from the drawing."""
    graph = drawing.graph()
    calls = []
    for i, location in enumerate(locations):
        sources = tuple(
            SourceResult(
                n.label.rpartition("/")[2], n.label, "variable", "float32", (8,), _verdict(n.status),
                Returned.NONE if n.status in (DEAD, BREAK) else Returned.TENSOR,
                (Break(Cause.STOP_GRADIENT),) if n.status in (DEAD, BREAK) else (),
            )
            for n in graph.nodes if n.role is Role.SOURCE and i in n.calls
        )  # fmt: skip
        calls.append(CallResult("gradient", location, (TargetResult("loss", "loss", None),), sources))
    return Report(target, "2.21.0", "3.15.0", "graph", tuple(calls), tuple(causes), build_graph=lambda: graph)


def report_on(graph: ReportGraph) -> Report:
    """A report that says nothing but has this drawing."""
    return Report("f.py:step", "2.21.0", "3.15.0", "graph", (), build_graph=lambda: graph)


def _verdict(status: Status) -> Verdict:
    return {DEAD: Verdict.NONE, BREAK: Verdict.NONE, Status.CONDITIONAL: Verdict.CONDITIONAL, Status.OPAQUE: Verdict.OPAQUE}.get(
        status, Verdict.CONNECTED
    )


def vae() -> Report:
    """The forward pass stands before the tape: all eight variables are cut off by one line."""
    file = "/home/ann/samples/vae.py"

    def at(line: int, function: str, code: str) -> Location:
        own = Frame(file, line, function, code)
        return Location(own, (outer.frame,) if function == "VAE.call" else ())

    outer = Location.new(file, 33, "train_step", "rec, mu, lv = vae(x, training=True)")
    d = Drawing()
    for layer in ("enc", "mu", "logvar", "dec"):
        for part in ("kernel", "bias"):
            d.source(f"vae/{layer}/{part}", DEAD)

    def inside(name: str, type: str, after: Sequence[str], line: Location) -> str:
        """An op of the model, all of which runs before the tape: the report names those that read a variable."""
        first = any(d.status[tail] is DEAD and tail.endswith(("kernel", "bias")) for tail in after)
        cut = Cause.OUTSIDE_TAPE if first else None
        return d.op(name, type, after, BREAK if first else DEAD, line, cause=cut, number=int(first), shut=Cause.OUTSIDE_TAPE)

    def dense(layer: str, before: str, line: Location) -> str:
        product = inside(f"vae/{layer}/MatMul", "MatMul", [t for t in (before, f"vae/{layer}/kernel") if t], line)
        return inside(f"vae/{layer}/BiasAdd", "BiasAdd", [product, f"vae/{layer}/bias"], line)

    h = dense("enc", "", at(15, "VAE.call", "h = self.enc(x)"))
    h = inside("vae/enc/Relu", "Relu", [h], at(15, "VAE.call", "h = self.enc(x)"))
    both = at(16, "VAE.call", "mu, lv = self.mu(h), self.lv(h)")
    mu, lv = dense("mu", h, both), dense("logvar", h, both)
    mix = at(17, "VAE.call", "z = mu + tf.exp(0.5 * lv) * tf.random.normal(tf.shape(mu))")
    half = inside("vae/mul", "Mul", [lv], mix)
    exp = inside("vae/Exp", "Exp", [half], mix)
    scaled = inside("vae/mul_1", "Mul", [exp], mix)
    z = inside("vae/add", "AddV2", [mu, scaled], mix)
    rec = dense("dec", z, at(18, "VAE.call", "return self.dec(z), mu, lv"))
    kl_line = at(27, "total_loss", "kl = -0.5 * tf.reduce_mean(1.0 + lv - mu ** 2 - tf.exp(lv))")
    kl = d.op("kl_sub", "Sub", [mu, lv], LIVE, kl_line)
    kl = d.op("kl_mean", "Mean", [kl], LIVE, kl_line)
    last = at(28, "total_loss", "return tf.reduce_mean(tf.square(x - rec)) + kl")
    square = d.op("Square", "Square", [rec], LIVE, last)
    mean = d.op("Mean", "Mean", [square], LIVE, last)
    d.op("loss", "AddV2", [mean, kl], LIVE, last, role=Role.TARGET)
    names = tuple(n.label for n in d.nodes if n.role is Role.SOURCE)
    cause = RootCause(
        1, Cause.OUTSIDE_TAPE, outer, (("vae/mu/BiasAdd", "BiasAdd"),), names, names,
        "this line runs before `with tf.GradientTape()` on line 34: move it inside", dominates=True,
    )  # fmt: skip
    return report_of(d, causes=[cause], locations=[at(36, "train_step", "return loss, tape.gradient(loss, vae.trainable_weights)")])


def gan() -> Report:
    """Two gradient calls; the generator's goes through NumPy, the discriminator's is sound."""
    file = "gan.py"

    def at(line: int, function: str, code: str) -> Location:
        return Location.new(file, line, function, code)

    d = Drawing()
    for part in ("kernel", "bias"):
        d.source(f"critic/hidden/{part}", LIVE, calls=(0,))
        d.source(f"critic/score/{part}", LIVE, calls=(0,))
    real, fake = "real", "fake"
    for side, line, code in ((real, 41, "real_score = critic(images)"), (fake, 42, "fake_score = critic(generated)")):
        where = at(line, "train_step", code)
        a = d.op(f"{side}/critic/hidden/MatMul", "MatMul", ["critic/hidden/kernel", "critic/hidden/bias"], LIVE, where, scope="critic/hidden")
        d.op(f"{side}/critic/score/MatMul", "MatMul", [a, "critic/score/kernel", "critic/score/bias"], LIVE, where, scope="critic/score")
    where = at(43, "train_step", "d_loss = bce(ones, real_score) + bce(zeros, fake_score)")
    d.op("d_loss", "AddV2", ["real/critic/score/MatMul", "fake/critic/score/MatMul"], LIVE, where, role=Role.TARGET)
    for layer in ("dense", "conv1", "conv2"):
        for part in ("kernel", "bias"):
            d.source(f"generator/{layer}/{part}", DEAD, calls=(1,))
    d.source("generator/style", BREAK, calls=(1,), number=2, cause=Cause.NEVER_READ)
    tail = []
    for layer, line in (("dense", 12), ("conv1", 13), ("conv2", 14)):
        where = at(line, "Generator.call", f"x = self.{layer}(x)")
        after = [*tail, f"generator/{layer}/kernel", f"generator/{layer}/bias"]
        tail = [d.op(f"generator/{layer}/Conv2D", "Conv2D", after, DEAD, where, calls=(1,))]
    where = at(47, "train_step", "moments = np.mean(generated.numpy(), axis=0)")
    cut = d.op("EagerPyFunc", "EagerPyFunc", tail, BREAK, where, cause=Cause.NUMPY_ESCAPE, number=1, calls=(1,))
    sub = d.op("Sub", "Sub", [cut], LIVE, at(48, "train_step", "gap = moments - target_moments"), calls=(1,))
    d.op("g_loss", "Mean", [sub], LIVE, at(49, "train_step", "g_loss = tf.reduce_mean(tf.square(gap))"), role=Role.TARGET, calls=(1,))
    names = tuple(n.label for n in d.nodes if n.role is Role.SOURCE and n.calls == (1,) and n.status is DEAD)
    causes = [
        RootCause(1, Cause.NUMPY_ESCAPE, where, (("EagerPyFunc", "EagerPyFunc"),), names, names, call=1),
        RootCause(2, Cause.NEVER_READ, None, (), ("generator/style",), (), "call the layer in the step", call=1),
    ]
    return report_of(
        d, "gan.py:train_step", causes=causes,
        locations=[at(51, "train_step", "d_tape.gradient(d_loss, critic.w)"), at(52, "train_step", "g_tape.gradient(g_loss, generator.w)")],
    )  # fmt: skip


def resnet(blocks: int = 40, filler: int = 23, in_one_line: bool = False) -> Report:
    """About 3,000 ops and 160 variables; a StopGradient halfway cuts off the first half. ``in_one_line``: one line calls a functional model."""
    d = Drawing()
    tail = ""
    names: list[str] = []
    whole = Location.new("train.py", 30, "train_step", "logits = model(images)")
    line = Location.new("resnet.py", 58, "Freeze.call", "return tf.stop_gradient(x)")
    for b in range(blocks):
        status = DEAD if b < blocks // 2 else LIVE
        skip = tail
        for c in (1, 2):
            layer = f"resnet/block{b}/conv{c}"
            where = (
                whole if in_one_line else Location.new("resnet.py", 20 + c, "Block.call", f"y = self.norm{c}(self.conv{c}({'y' if c == 2 else 'x'}))")
            )
            variables = [d.source(f"{layer}/{part}", status) for part in ("kernel", "gamma")]
            names += variables if status is DEAD else []
            tail = d.op(f"{layer}/Conv2D", "Conv2D", [t for t in (tail, *variables) if t], status, where)
            for i in range(filler + 11):
                tail = d.op(f"{layer}/Mul_{i}", "Mul", [tail], status, where)
        where = whole if in_one_line else Location.new("resnet.py", 24, "Block.call", "return tf.nn.relu(x + y)")
        tail = d.op(f"resnet/block{b}/add", "AddV2", [t for t in (tail, skip) if t], status, where)
        if b == blocks // 2 - 1:
            tail = d.op("resnet/freeze/StopGradient", "StopGradient", [tail], BREAK, line, cause=Cause.STOP_GRADIENT, number=1)
    d.op("loss", "Mean", [tail], LIVE, Location.new("train.py", 31, "train_step", "loss = cross_entropy(labels, logits)"), role=Role.TARGET)
    cause = RootCause(1, Cause.STOP_GRADIENT, line, (("resnet/freeze/StopGradient", "StopGradient"),), tuple(names), tuple(names), dominates=True)
    return report_of(
        d, "train.py:train_step", causes=[cause], locations=[Location.new("train.py", 33, "train_step", "tape.gradient(loss, model.weights)")]
    )


HOSTILE = (
    'say "hi" \\N \\G <b>&amp;</b> {a|b}',
    "a\nb\rc\td\x00\x1b",
    "層/重み/カーネル",
    "x" * 300,
    "\ud800 ￿ 🙂 %s {0} \\",
    "<>",
    "",
    "]]> --> <!--",
)


def hostile() -> Report:
    """Names and code that mean something to DOT, to Graphviz's escapes, to HTML or to XML."""
    d = Drawing()
    d.op("start", "Placeholder", [], DEAD, None)
    tail = "start"
    for i, text in enumerate(HOSTILE):
        where = Location.new(f"/tmp/{text}.py", i + 1, text, text)
        source = d.source(f"{text}/{i}", DEAD)
        tail = d.op(f"{i}{text}", text, [tail, source], DEAD, where, scope=text)
    d.op("cut", HOSTILE[0], [tail], BREAK, Location.new(HOSTILE[0], 1, HOSTILE[1], HOSTILE[0]), cause=Cause.NON_FLOAT, number=1)
    d.op("loss", "Mean", ["cut"], LIVE, None, role=Role.TARGET)
    return report_of(d, HOSTILE[0], causes=[RootCause(1, Cause.NON_FLOAT, Location.new(HOSTILE[3], 1, HOSTILE[3], HOSTILE[3]), (), HOSTILE, ())])


def branches() -> Report:
    """A conditional head, an opaque py_function, and a gather that is open to one input and shut to the other."""

    def at(line: int, code: str) -> Location:
        return Location.new("heads.py", line, "train_step", code)

    d = Drawing()
    d.source("table/embeddings", LIVE)
    d.source("router/kernel", DEAD)
    d.source("extra/kernel", Status.CONDITIONAL)
    d.source("weird/kernel", Status.OPAQUE)
    logits = d.op("router/MatMul", "MatMul", ["router/kernel"], DEAD, at(10, "logits = router(x)"))
    index = d.op("ArgMax", "ArgMax", [logits], BREAK, at(11, "index = tf.argmax(logits, -1)"), cause=Cause.NON_FLOAT, number=1)
    row = d.op("GatherV2", "GatherV2", ["table/embeddings", index], LIVE, at(12, "row = tf.gather(table, index)"))
    extra = d.op("cond/MatMul", "MatMul", ["extra/kernel"], Status.CONDITIONAL, at(14, "row += tf.cond(step > 100, lambda: extra(x), lambda: 0.0)"))
    odd = d.op("EagerPyFunc", "EagerPyFunc", ["weird/kernel"], Status.OPAQUE, at(15, "odd = tf.py_function(weird, [x], tf.float32)"))
    d.op("loss", "Sum", [row, extra, odd], LIVE, at(16, "loss = tf.reduce_sum(row + odd)"), role=Role.TARGET)
    cause = RootCause(1, Cause.NON_FLOAT, at(11, "index = tf.argmax(logits, -1)"), (("ArgMax", "ArgMax"),), ("router/kernel",), ("router/kernel",))
    return report_of(d, "heads.py:train_step", causes=[cause], locations=[at(17, "tape.gradient(loss, weights)")])
