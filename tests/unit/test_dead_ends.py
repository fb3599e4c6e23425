"""Where a value goes that never reaches the target."""

from __future__ import annotations

from tapetrace.analysis.connection import Connection
from tapetrace.analysis.dead_ends import reads_of
from tapetrace.model.trace import Gate
from tests.unit.graphs import Graph, answers, causes, connection, report, verdicts


def chain(found: Connection, name: str = "w") -> list[str]:
    start = next((n, 0) for n, node in enumerate(found.flat.nodes) if node.name == name)
    return [found.flat.nodes[n].name for n in found.dead_ends.chain(start)]


def test_a_variable_that_nothing_reads() -> None:
    graph = Graph().variables("w u").read("r", "u").op("loss", "r")
    found = report(graph, sources="w u")
    assert verdicts(found) == {"w": "none", "u": "connected"}
    assert causes(found) == ["never_read"]


def test_a_variable_that_the_graph_never_mentions() -> None:
    found = report(Graph().variables("u").read("r", "u").op("loss", "r"), sources="w u")
    assert causes(found) == ["never_read"]
    assert answers(found)["w"].route == ()


def test_the_layer_that_was_not_called_is_named_unless_another_of_its_variables_is_read() -> None:
    graph = Graph().variables("w u").read("r", "u").op("loss", "r")
    lone = report(graph, sources="w", facts={"owner": "model/head"})
    assert answers(lone)["w"].breaks[0].detail == "layer model/head was not called"
    both = report(graph, sources="w u", facts={"owner": "model/head"})
    assert answers(both)["w"].breaks[0].detail == ""


def test_the_last_op_in_program_order_is_where_it_ends() -> None:
    graph = Graph().variables("w").tensors("x").read("r", "w").op("a", "r").op("b", "r").op("c", "a").op("d", "a c").op("loss", "x")
    found = answers(report(graph))["w"]
    assert [(b.cause.value, b.op) for b in found.breaks] == [("unused_result", "d")]
    assert found.route == ("w", "r", "a", "c", "d")
    assert chain(connection(graph)) == ["r", "a", "c", "d"]


def test_a_write_into_the_variable_is_no_read_and_a_shape_neither() -> None:
    graph = Graph().variables("w").tensors("x").assign("set", "w", "x").op("shape", "w", type="VariableShape", dtypes="int32").op("loss", "x")
    assert reads_of(connection(graph).flat, (0, 0)) == []
    assert causes(report(graph)) == ["never_read"]


def test_what_the_backward_pass_reads_was_not_used_for_anything() -> None:
    graph = Graph().variables("w").tensors("x").read("r", "w").op("a", "r").op("mul_grad", "a", made_by=0).op("update", "mul_grad").op("loss", "x")
    assert chain(connection(graph)) == ["r", "a"]


def test_a_dead_end_goes_through_the_second_output_of_an_op_and_into_a_variable() -> None:
    graph = Graph().variables("w v").tensors("x").read("r", "w").op("pair", "r", dtypes="float32 float32")
    graph.op("a", "pair:1").assign("set", "v", "a").op("loss", "x")
    assert chain(connection(graph)) == ["r", "pair", "a", "set"]
    graph.read("s", "v")
    assert chain(connection(graph)) == ["r", "pair", "a", "set", "s"]


def test_a_tensor_that_reaches_the_target_only_by_its_shape_is_unused() -> None:
    graph = Graph().tensors("x").op("zeros", "x", Gate.NONE, type="ZerosLike").op("a", "x").op("loss", "zeros")
    found = answers(report(graph, sources="x", watched="x"))["x"]
    assert [(b.cause.value, b.op) for b in found.breaks] == [("unused_result", "a")]
    assert causes(report(Graph().tensors("x").op("loss", "x", type="ZerosLike"), sources="x"), "x") == ["never_read"]


def test_the_target_itself_is_no_dead_end() -> None:
    graph = Graph().tensors("x", "int32").op("a", "x")
    assert causes(report(graph, "x", "x", float_target=False), "x") == ["non_float_source"]


def test_a_long_chain_needs_no_recursion() -> None:
    graph = Graph().variables("w").tensors("x").read("r0", "w")
    for k in range(3000):
        graph.op(f"r{k + 1}", f"r{k}")
    graph.op("loss", "x")
    assert answers(report(graph))["w"].breaks[0].op == "r3000"
