"""What is said of a source: verdict, causes in the order of the data, and the ops that they stand at."""

from __future__ import annotations

from typing import Any

import pytest

from tapetrace.analysis.ways import Passage, judge
from tapetrace.model.trace import Gate, Recording, Tape, TraceError, Window
from tapetrace.model.words import Cause, Returned, Verdict
from tests.unit.graphs import LOOKUP_ERROR, Graph, answers, body, causes, ops, report, spec, verdicts

OPEN, NONE, ZERO, INT, LACKS = Gate.OPEN, Gate.NONE, Gate.ZERO, Gate.NON_FLOAT_INPUT, Gate.UNREGISTERED


def through(gate: Gate, type: str = "Op", dtypes: str = "float32") -> Graph:
    return Graph().variables("w").read("r", "w").op("a", "r", gate, type=type, dtypes=dtypes).op("loss", "a")


CAUSES = [
    (through(NONE, "StopGradient"), "none", "stop_gradient"),
    (through(NONE, "PreventGradient"), "error", "stop_gradient"),
    (through(Gate.NOT_DIFFERENTIABLE, "PyFunc"), "none", "python_function"),
    (through(Gate.PYTHON, "EagerPyFunc"), "opaque", "python_function"),
    (through(Gate.UNKNOWN), "opaque", "not_probed"),
    (through(Gate.CUSTOM_NONE), "none", "custom_gradient"),
    (through(Gate.CUSTOM_ZERO), "zero", "custom_gradient"),
    (through(LACKS), "error", "no_gradient_registered"),
    (through(OPEN, dtypes="int32"), "none", "non_float"),
    (through(OPEN, "TensorSliceDataset", "bool"), "none", "dataset"),
    (through(Gate.NOT_DIFFERENTIABLE), "none", "not_differentiable"),
    (through(NONE), "none", "gradient_is_none"),
    (through(ZERO), "zero", "gradient_is_zero"),
]


@pytest.mark.parametrize(("graph", "verdict", "cause"), CAUSES, ids=[f"{v}-{c}" for _, v, c in CAUSES])
def test_every_gate_has_its_cause(graph: Graph, verdict: str, cause: str) -> None:
    found = answers(report(graph, watched="w"))["w"]
    assert (found.verdict.value, [b.cause.value for b in found.breaks], [b.op for b in found.breaks]) == (verdict, [cause], ["a"])


def test_an_open_gate_is_open_whatever_the_op_is_called() -> None:
    assert judge("PyFunc", OPEN, Recording.RECORDED).passage is Passage.OPEN
    assert judge("StopGradient", OPEN, Recording.OUTSIDE).cause is Cause.OUTSIDE_TAPE


@pytest.mark.parametrize(("type", "gate"), [("EagerPyFunc", Gate.PYTHON), ("Qr", Gate.UNKNOWN)])
def test_what_no_tape_recorded_is_not_opaque(type: str, gate: Gate) -> None:
    assert judge(type, gate, Recording.STOPPED).cause is Cause.RECORDING_STOPPED


def test_an_op_that_lacks_a_gradient_raises_only_where_it_was_recorded() -> None:
    assert judge("X", LACKS, Recording.RECORDED).raises
    unseen = judge("X", LACKS, Recording.OUTSIDE)
    assert (unseen.cause, unseen.raises) == (Cause.NO_GRADIENT_REGISTERED, False)


def test_breaks_stand_in_the_direction_of_the_data() -> None:
    graph = Graph().variables("w").read("r", "w").op("stop", "r", NONE, type="StopGradient").op("sign", "stop", ZERO)
    graph.op("argmax", "sign", dtypes="int32").op("back", "argmax", INT).op("loss", "back")
    assert causes(report(graph)) == ["stop_gradient", "gradient_is_zero", "non_float"]
    assert ops(report(graph)) == ["stop", "sign", "argmax"]


def test_what_a_value_was_computed_from_out_of_sight() -> None:
    graph = Graph().variables("w u").read("r", "u").op("p", "r", Gate.PYTHON, type="EagerPyFunc", hidden=("w", Cause.PYTHON_FUNCTION))
    graph.op("c", "p", hidden=("w", Cause.CAPTURED_VALUE)).op("loss", "c")
    assert verdicts(report(graph, sources="w u")) == {"w": "none", "u": "opaque"}
    assert causes(report(graph)) == ["captured_value"]


def test_an_opaque_source_names_the_python_function_however_else_it_is_broken() -> None:
    """The shortest broken path went another way, and the report named no op at all."""
    graph = Graph().variables("w").read("r", "w").op("stop", "r", NONE, type="StopGradient").op("p", "r", Gate.PYTHON, type="EagerPyFunc")
    found = answers(report(graph.op("q", "p").op("loss", "stop q")))["w"]
    assert (found.verdict.value, [b.op for b in found.breaks]) == ("opaque", ["p"])
    assert found.route == ("w", "r", "p", "q", "loss")


def test_an_opaque_source_for_which_none_came_back_is_broken_there() -> None:
    found = report(through(Gate.PYTHON, "EagerPyFunc"), facts={"returned": Returned.NONE})
    assert (verdicts(found), causes(found)) == ({"w": "none"}, ["python_function"])


def test_what_tensorflow_returned_tells_zero_from_none() -> None:
    assert verdicts(report(through(NONE), facts={"returned": Returned.TENSOR})) == {"w": "zero"}
    assert verdicts(report(through(ZERO), watched="w", facts={"returned": Returned.NONE})) == {"w": "none"}
    assert verdicts(report(through(OPEN), facts={"returned": Returned.TENSOR})) == {"w": "connected"}


def test_an_integer_source_says_so_once() -> None:
    graph = Graph().tensors("k", "int32").op("back", "k", INT).op("stop", "back", NONE, type="StopGradient").op("loss", "stop")
    assert causes(report(graph, sources="k"), "k") == ["non_float_source", "stop_gradient"]
    assert causes(report(Graph().tensors("k", "int32").op("loss", "k", INT), sources="k"), "k") == ["non_float_source"]


def test_a_used_tape_is_the_only_break() -> None:
    found = report(through(NONE), tape_reused=True)
    assert (verdicts(found), causes(found)) == ({"w": "error"}, ["tape_reused"])


# The call raises as a whole.


def lacking(*sources_and_ways: str) -> Graph:
    graph = Graph().variables("w u v").read("rw", "w").read("ru", "u").read("rv", "v").op("x", "rw", LACKS)
    return graph.op("floor", "rv", NONE).op("loss", "x ru floor")


def test_every_source_that_would_be_live_is_in_error() -> None:
    found = report(lacking(), sources="w u v", watched="w u v")
    assert verdicts(found) == {"w": "error", "u": "error", "v": "none"}
    assert causes(found, "u") == ["no_gradient_registered"]
    assert ops(found, "u") == ["x"]
    assert causes(found, "v") == ["gradient_is_none"]


def test_what_is_not_on_the_tape_does_not_raise() -> None:
    graph = Graph().variables("u").tensors("image").op("x", "image", LACKS).read("ru", "u").op("loss", "x ru")
    assert verdicts(report(graph, sources="u", watched="u")) == {"u": "connected"}
    assert verdicts(report(graph, sources="u", watched="u image")) == {"u": "error"}


def test_an_op_outside_the_tape_does_not_raise() -> None:
    """It did, as soon as its input was on the tape for another reason."""
    graph = Graph().variables("w").read("r", "w").op("x", "r", LACKS).op("s", "r").op("loss", "x s")
    found = report(graph, watched="w", tape=Tape({"step": (Window(0, 2), Window(3))}))
    assert verdicts(found) == {"w": "connected"}


def test_zeros_that_come_to_an_op_without_gradient_raise_too() -> None:
    graph = Graph().variables("w u").read("r", "w").op("x", "r", LACKS).op("sign", "x", ZERO).read("s", "u").op("loss", "sign s")
    found = report(graph, sources="w u", watched="w u")
    assert verdicts(found) == {"w": "none", "u": "error"}
    assert causes(found, "w") == ["no_gradient_registered", "gradient_is_zero"]


def test_python_code_answers_and_so_the_op_behind_it_raises() -> None:
    graph = Graph().variables("w u").read("r", "w").op("x", "r", LACKS).op("p", "x", Gate.PYTHON, type="EagerPyFunc").read("s", "u")
    assert verdicts(report(graph.op("loss", "p s"), sources="w u", watched="w u")) == {"w": "error", "u": "error"}


def test_a_call_that_tensorflow_says_raises_does_even_if_no_op_explains_it() -> None:
    found = report(through(OPEN), error=LOOKUP_ERROR, facts={"returned": Returned.ERROR})
    assert (verdicts(found), causes(found)) == ({"w": "error"}, ["no_gradient_registered"])
    assert answers(found)["w"].breaks[0].detail == LOOKUP_ERROR.message
    assert found.agreement.disagreed == ()


def test_a_call_that_raises_for_another_reason_gives_nothing() -> None:
    found = report(through(OPEN), error=TraceError("ValueError", "not today"), facts={"returned": Returned.ERROR})
    assert (verdicts(found), causes(found)) == ({"w": "error"}, ["not_probed"])
    first = answers(found)["w"].breaks[0]
    assert first.detail == "ValueError: not today"
    assert "the call itself raises" in first.remedy
    assert found.agreement.checked == 0


@pytest.mark.parametrize(
    ("facts", "op"),
    [({"raised_in": ("Elsewhere", "Odd")}, "second"), ({"raised_at": (3, 0)}, "first"), ({"raised_in": "Nowhere"}, "")],
    ids=["type", "at", "unknown"],
)
def test_the_op_whose_gradient_function_raised_is_the_break(facts: dict[str, Any], op: str) -> None:
    graph = Graph().variables("w u").read("r", "w").op("first", "r", OPEN, type="Odd").op("second", "first", OPEN, type="Odd").read("s", "u")
    found = report(graph.op("loss", "second s"), sources="w u", watched="w u", error=TraceError("ValueError", "no"), **facts)
    assert verdicts(found) == {"w": "error", "u": "error"}
    assert {s.breaks[0].op for s in answers(found).values()} == {op}
    assert [set(c.reconnects) for c in found.root_causes] == [{"w", "u"}]


def test_python_code_that_makes_an_op_before_it_fail_is_the_break() -> None:
    graph = Graph().variables("w").read("r", "w").op("product", "r", OPEN, type="MatMul").op("p", "product", Gate.PYTHON, type="EagerPyFunc")
    found = report(graph.op("loss", "p"), error=TraceError("ValueError", "no"), raised_in=("MatMul",))
    assert (verdicts(found), causes(found), ops(found)) == ({"w": "error"}, ["python_function"], ["p"])


def test_python_code_that_fails_on_the_way_back_is_python_code() -> None:
    graph = Graph().variables("w").read("r", "w").op("p", "r", Gate.PYTHON, type="EagerPyFunc")
    found = report(graph.op("loss", "p"), error=TraceError("ValueError", "no"), raised_in=("EagerPyFunc",))
    assert (verdicts(found), causes(found)) == ({"w": "error"}, ["python_function"])


def test_an_op_without_gradient_that_gradient_does_not_come_to_is_only_a_break() -> None:
    graph = Graph().variables("w u").read("r", "w").op("x", "r", LACKS).op("floor", "x", NONE).read("s", "u").op("loss", "floor s")
    found = report(graph, sources="w u", watched="w u")
    assert verdicts(found) == {"w": "none", "u": "connected"}
    assert causes(found) == ["no_gradient_registered", "gradient_is_none"]


def test_a_function_is_differentiated_for_all_its_arguments_and_results() -> None:
    """Its gradient is one op to the tape: an augmentation of the images inside it raises, watched or not, and so does what the loss does not use."""
    inside = body("f", "image w").op("x", "image", LACKS).op("y", "x w").returns("y")
    graph = Graph().variables("w").tensors("image").read("r", "w").call("f", inside, "image r").op("loss", "f")
    assert verdicts(report([graph, inside], watched="w")) == {"w": "error"}
    beside = body("f", "image w").op("x", "image", LACKS).op("y", "w").returns("y x")
    graph = Graph().variables("w").tensors("image").read("r", "w").call("f", beside, "image r").op("loss", "f:0")
    assert verdicts(report([graph, beside], watched="w")) == {"w": "error"}


def test_a_source_that_is_no_float_tensor_is_never_in_error_for_the_op_of_others() -> None:
    graph = lacking().tensors("k", "int32").op("more", "k loss", gates={(0, 0): INT})
    found = report(graph, "more", "u k", watched="u w")
    assert verdicts(found) == {"u": "error", "k": "none"}
    assert answers(found)["k"].cause is Cause.NON_FLOAT_SOURCE
    assert answers(found)["k"].dtype == spec("int32").dtype
    assert answers(found)["u"].verdict is Verdict.ERROR
