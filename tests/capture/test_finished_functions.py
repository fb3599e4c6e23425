"""Concrete functions as targets: no tape is seen, TensorFlow's own answer under a tape is the judge."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import tapetrace
from tapetrace.errors import TraceFailed, UsageError
from tests.capture.finished_oracle import contradictions, verdicts

X = [0.5, -1.0, 2.0]
SPEC = tf.TensorSpec([3])
Build = Callable[[Any, Any, Any], Any]


class Module(tf.Module):
    """``a`` and ``b`` and ``c``, and one that nobody reads."""

    def __init__(self) -> None:
        super().__init__()
        self.a = tf.Variable([1.0, 2.0, 3.0], name="a")
        self.b = tf.Variable(2.0, name="b")
        self.c = tf.Variable(3.0, name="c")
        self.never = tf.Variable(1.0, name="never")


@tf.custom_gradient
def _forgetful(x: Any) -> Any:
    return x * 2.0, lambda upstream: None


def _called(m: Module, x: Any) -> Any:
    @tf.function
    def inner(x: Any) -> Any:
        return x * m.b, x * m.c

    return tf.reduce_sum(inner(x * m.a)[0])


def _looped(m: Module, x: Any) -> Any:
    def body(i: Any, total: Any) -> Any:
        return i + 1, total * m.b + tf.stop_gradient(m.c)

    return tf.reduce_sum(tf.while_loop(lambda i, _: i < 3, body, (0, m.a * x))[1])


def _branched(m: Module, x: Any) -> Any:
    return tf.reduce_sum(m.a) * tf.cond(tf.reduce_sum(x) > 0.0, lambda: m.b * 2.0, lambda: tf.stop_gradient(m.b)) + tf.round(m.c)


def _unregistered(m: Module, x: Any) -> Any:
    return tf.reduce_sum(tf.raw_ops.Snapshot(input=m.a * x) * m.b) + m.c


CASES: dict[str, tuple[Callable[[Module, Any], Any], dict[str, str]]] = {
    "plain": (lambda m, x: tf.reduce_sum(m.a * x) * m.b + m.c, {"a": "connected", "b": "connected", "c": "connected"}),
    "stopped": (lambda m, x: tf.reduce_sum(tf.stop_gradient(m.a * x)) * m.b, {"a": "none", "b": "connected"}),
    "integer": (lambda m, x: tf.reduce_sum(tf.gather(m.a, tf.cast(m.b, tf.int32))) * m.c, {"a": "connected", "b": "none", "c": "connected"}),
    "custom": (lambda m, x: _forgetful(m.b) + tf.reduce_sum(m.a * x), {"a": "connected", "b": "none"}),
    "called": (_called, {"a": "connected", "b": "connected", "c": "zero"}),
    "looped": (_looped, {"a": "connected", "b": "connected", "c": "zero"}),
    "branched": (_branched, {"a": "connected", "b": "conditional", "c": "none"}),
}


def _finished(build: Callable[[Module, Any], Any]) -> tuple[Module, Any]:
    module = Module()
    return module, tf.function(lambda x: build(module, x), input_signature=[SPEC]).get_concrete_function()


@pytest.mark.parametrize("name", CASES)
def test_verdicts_are_those_of_tensorflow(name: str) -> None:
    build, expected = CASES[name]
    module, function = _finished(build)
    report = tapetrace.check(function)
    assert verdicts(report) == expected
    assert (report.agreement.checked, report.agreement.disagreed) == (len(expected), ())
    assert contradictions(report, lambda: function(tf.constant(X)), [getattr(module, v) for v in verdicts(report)]) == []


def test_an_op_without_a_gradient_raises_for_what_lies_behind_it() -> None:
    module, function = _finished(_unregistered)
    report = tapetrace.check(function)
    assert verdicts(report) == {"a": "error", "b": "error", "c": "error"}
    assert report.agreement.disagreed == ()
    assert report.calls[0].sources[0].cause is tapetrace.Cause.NO_GRADIENT_REGISTERED
    with tf.GradientTape() as tape, pytest.raises(LookupError):
        tape.gradient(function(tf.constant(X)), [module.a])


def test_the_report_says_that_no_tape_was_seen() -> None:
    _, function = _finished(CASES["stopped"][0])
    report = tapetrace.check(function)
    (call,) = report.calls
    assert (call.kind, call.location, [t.name for t in call.targets]) == ("graph", None, ["output"])
    assert [s.returned for s in call.sources] == [None, None]
    assert report.notes[0].startswith("No tape was seen: these verdicts speak of the graph alone")
    (cause,) = report.root_causes
    assert cause.cause is tapetrace.Cause.STOP_GRADIENT
    assert cause.location is not None
    assert cause.location.file == __file__
    assert (cause.blocks, cause.reconnects) == (("a",), ("a",))
    text = tapetrace.api.render_text(report)
    assert "the output of the graph" in text
    assert "verified: 2 of 2 verdicts agree with what tf.gradients returns for a copy of the graph" in text
    assert tapetrace.api.render_text(report, "json").count('"kind": "graph"') == 1


def test_the_graph_is_left_as_it_was() -> None:
    _module, function = _finished(lambda m, x: _looped(m, x) + _branched(m, x) + _called(m, x))
    before = function.graph.as_graph_def().SerializeToString(deterministic=True)
    result = function(tf.constant(X)).numpy()
    outputs = [t.name for t in function.graph.outputs]
    tapetrace.check(function)
    tapetrace.check(function, verify=False)
    assert function.graph.as_graph_def().SerializeToString(deterministic=True) == before
    assert [t.name for t in function.graph.outputs] == outputs
    assert function(tf.constant(X)).numpy() == result


def test_a_backward_pass_that_was_built_before_is_left_aside() -> None:
    module, function = _finished(lambda m, x: {"loss": _looped(m, x), "aux": m.b * 2.0})
    with tf.GradientTape() as tape:
        loss = function(tf.constant(X))["loss"]
    assert tape.gradient(loss, module.a) is not None
    report = tapetrace.check(function, loss="loss")
    assert verdicts(report) == {"a": "connected", "b": "connected", "c": "zero"}


def test_without_verification_nothing_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    _, function = _finished(CASES["called"][0])
    monkeypatch.setattr(tapetrace.capture.finished, "copy_function", lambda f: pytest.fail("copied"))
    report = tapetrace.check(function, verify=False)
    assert verdicts(report) == CASES["called"][1]
    assert report.agreement.checked == 0


def test_a_training_step_that_was_traced() -> None:
    module = Module()

    @tf.function(input_signature=[SPEC])
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(module.a * x) + tf.stop_gradient(module.b)
        module.a.assign_sub(tape.gradient(loss, module.a))
        return loss

    assert verdicts(tapetrace.check(step.get_concrete_function())) == {"a": "connected", "b": "none"}


class TestLoss:
    """Which output is differentiated."""

    @staticmethod
    def function(build: Callable[[Module, Any], Any]) -> Any:
        module, function = _finished(build)
        function.owner = module  # type: ignore[attr-defined]  # variables are held weakly
        return function

    @pytest.fixture
    def several(self) -> Any:
        return self.function(lambda m, x: {"loss": tf.reduce_sum(m.a * x), "each": m.b * x, "count": tf.size(x), "parts": (m.c * x, None)})

    def test_the_only_float_scalar(self, several: Any) -> None:
        report = tapetrace.check(several)
        assert [t.name for t in report.calls[0].targets] == ["loss"]
        assert report.notes[1] == "The output loss was taken as loss: it is the only float scalar; --loss names another."
        assert verdicts(report) == {"a": "connected", "b": "none", "c": "none"}

    @pytest.mark.parametrize(
        ("loss", "live"), [("each", "b"), (1, "b"), ("1", "b"), ("parts/0", "c"), (3, "c"), (2, "a"), ("loss", "a"), ("Sum", "a")]
    )
    def test_by_name_and_number(self, several: Any, loss: str | int, live: str) -> None:
        found = verdicts(tapetrace.check(several, loss=loss))
        assert {path for path, verdict in found.items() if verdict == "connected"} == {live}

    def test_all_float_outputs_when_none_is_scalar(self) -> None:
        report = tapetrace.check(self.function(lambda m, x: (m.a * x, m.b * x, tf.size(x))))
        assert [t.name for t in report.calls[0].targets] == ["0", "1"]
        assert verdicts(report) == {"a": "connected", "b": "connected"}
        assert report.notes[1].startswith("No output is the only float scalar, so the sum of all was taken as loss (0, 1)")

    def test_no_float_output(self) -> None:
        with pytest.raises(TraceFailed, match=r"has no float output \(output\) to take as loss: name a tensor with --loss"):
            tapetrace.check(self.function(lambda m, x: tf.size(x * m.a)))

    @pytest.mark.parametrize(
        ("loss", "words"),
        [
            ("los", r"has no output or tensor named 'los', did you mean loss\?"),
            (7, r"has no output 7, its outputs are 0 count, 1 each, 2 loss, 3 parts/0"),
            ("count", r"count of <lambda> is int32 and has no gradient, its float outputs are each, loss, parts/0"),
            ("Sum:5", r"has no output or tensor named 'Sum:5'"),
        ],
    )
    def test_wrong_names(self, several: Any, loss: str | int, words: str) -> None:
        with pytest.raises(UsageError, match=words):
            tapetrace.check(several, loss=loss)


class TestVariables:
    """What is asked for."""

    def test_patterns_inputs_and_tensors(self) -> None:
        _module, function = _finished(lambda m, x: tf.reduce_sum(tf.stop_gradient(m.a) * x) * m.b + m.c)
        assert verdicts(tapetrace.check(function, variables=["a", "c"])) == {"a": "none", "c": "connected"}
        assert verdicts(tapetrace.check(function, variables="*")) == {"a": "none", "b": "connected", "c": "connected", "": "connected"}
        (source,) = tapetrace.check(function, variables=["x"]).calls[0].sources
        assert (source.name, source.kind, source.verdict.value, source.shape) == ("x:0", "tensor", "connected", (3,))
        (source,) = tapetrace.check(function, variables=["StopGradient:0"]).calls[0].sources
        assert (source.kind, source.verdict.value) == ("tensor", "connected")
        with pytest.raises(UsageError, match=r"has no variable, input or tensor named 'd', it has a, b, c, x"):
            tapetrace.check(function, variables=["d"])

    def test_a_frozen_variable_is_asked_for_only_by_name(self) -> None:
        frozen = tf.Variable(2.0, trainable=False, name="frozen")
        live = tf.Variable(2.0, name="live")
        function = tf.function(lambda x: tf.reduce_sum(x * frozen * live), input_signature=[SPEC]).get_concrete_function()
        assert verdicts(tapetrace.check(function)) == {"live": "connected"}
        assert verdicts(tapetrace.check(function, variables=["frozen"])) == {"frozen": "connected"}

    def test_no_trainable_variable(self) -> None:
        function = tf.function(tf.reduce_sum, input_signature=[SPEC]).get_concrete_function()
        with pytest.raises(TraceFailed, match=r"has no trainable variable to ask for: name variables, inputs or tensors with --variables, it has"):
            tapetrace.check(function)

    def test_variables_that_are_gone(self) -> None:
        function = _finished(CASES["plain"][0])[1]
        gc.collect()
        with pytest.raises(tapetrace.TapetraceError, match=r"variables of .* are gone: keep the module or model that owns them"):
            tapetrace.check(function)


@pytest.mark.parametrize("option", ["numeric", "perturb", "compare_modes"])
def test_what_runs_a_step_is_refused(option: str) -> None:
    _module, function = _finished(CASES["plain"][0])
    with pytest.raises(UsageError, match=f"is a finished graph, and {option} runs a step: leave it out"):
        tapetrace.check(function, **{option: True})
    with pytest.raises(UsageError, match="is a finished graph, and mode='eager' runs a step"):
        tapetrace.check(function, mode="eager")
    with pytest.raises(UsageError, match="is a finished graph with inputs of its own: give no arguments"):
        tapetrace.check(function, tf.constant(X))
    with pytest.raises(UsageError, match="is one function, not a SavedModel with a signature 'train': leave --signature out"):
        tapetrace.check(function, signature="train")


class Method(Module):
    def plain(self, x: Any) -> Any:
        return tf.reduce_sum(self.a * x) * tf.stop_gradient(self.b)

    @tf.function
    def decorated(self, x: Any) -> Any:
        return self.plain(x)

    @tf.function(input_signature=[SPEC])
    def signed(self, x: Any) -> Any:
        return self.plain(x)

    def two(self, x: Any) -> Any:
        return {"loss": self.plain(x), "other": self.c * 2.0}

    def step(self, x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = self.plain(x)
        return tape.gradient(loss, self.trainable_variables)


class TestMethods:
    """Methods of a module that return a loss and ask for no gradient."""

    @pytest.mark.parametrize("name", ["plain", "decorated", "signed"])
    def test_all_variables_of_the_module(self, name: str) -> None:
        module = Method()
        report = tapetrace.check(getattr(module, name), tf.constant(X))
        assert verdicts(report) == {"a": "connected", "b": "none", "c": "none", "never": "none"}
        assert {s.path: s.cause.value for s in report.calls[0].sources if s.cause} == {"b": "stop_gradient", "c": "never_read", "never": "never_read"}
        assert report.notes == (
            "The step makes no gradient call: the loss that it returns was taken as target, and every trainable variable that it reads or its module "
            "owns as source.",
        )
        assert contradictions(report, lambda: getattr(module, name)(tf.constant(X)), [getattr(module, v) for v in verdicts(report)]) == []

    def test_the_loss_among_several_outputs(self) -> None:
        module = Method()
        with pytest.raises(TraceFailed, match="return a scalar float loss and nothing else, or name its loss with --loss"):
            tapetrace.check(module.two, tf.constant(X))
        report = tapetrace.check(module.two, tf.constant(X), loss="other", variables=["b", "c"])
        assert verdicts(report) == {"b": "none", "c": "connected"}

    def test_a_step_that_asks_itself_names_its_own(self) -> None:
        with pytest.raises(UsageError, match="makes gradient calls itself, which name their loss and variables"):
            tapetrace.check(Method().step, tf.constant(X), loss="loss")
        with pytest.raises(UsageError, match="--loss and --variables need a graph"):
            tapetrace.check(Method().plain, tf.constant(X), variables=["a"], mode="eager")
        with pytest.raises(UsageError, match="is no SavedModel and has no signature 'train'"):
            tapetrace.check(Method().plain, tf.constant(X), signature="train")
