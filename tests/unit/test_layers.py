"""Which layer an op is in, by its scope and by who owns the variables that are read there."""

from __future__ import annotations

import pytest

from tapetrace.model.graph import GraphNode, Role, Status
from tapetrace.render.layers import common_scope, innermost_only, layers_of, names_of
from tapetrace.render.panels import Panel
from tapetrace.render.repeats import Calls


@pytest.mark.parametrize(
    ("ops", "owner", "expected"),
    [
        pytest.param(
            ["vae_1/enc_1/Cast/ReadVariableOp", "vae_1/enc_1/MatMul"], "vae/enc", ["vae_1/enc_1"] * 2, id="reading opens a scope without op"
        ),
        pytest.param(["vae_1/enc_1/cast/Read", "vae_1/enc_1/MatMul"], "vae/enc", ["vae_1/enc_1"] * 2, id="a scope below that of the owner"),
        pytest.param(["scale/ReadVariableOp", "scale"], "dense", ["", ""], id="an op with a name that could be a layer's"),
        pytest.param(["net/Cast/ReadVariableOp", "net/MatMul"], "other", ["net"] * 2, id="the owner has another name"),
        pytest.param(["MatMul/ReadVariableOp", "MatMul"], "dense", ["", ""], id="inner ops carry their op's name as scope"),
        pytest.param(
            ["net/dense/Cast/Read", "net/relu/Relu"], "dense", ["net/dense", "net/relu"], id="a layer without variables beside one that has"
        ),
        pytest.param(["net/dense/Cast/Read", "net/mul/deep/Mul"], "dense", ["net/dense", "net/mul"], id="one level below the model, not more"),
        pytest.param(["dense/Cast/Read", "mean_squared_error/sub/Sub"], "dense", ["dense", ""], id="a scope of TensorFlow's own is no layer"),
        pytest.param(["Read", "Mul"], "dense", ["", ""], id="no scope"),
    ],
)
def test_layers(ops: list[str], owner: str, expected: list[str]) -> None:
    source = GraphNode("v", "Variable", Status.LIVE, Role.SOURCE, scope="", label=f"{owner}/kernel")
    nodes = [source, *(GraphNode(name, "Op", Status.LIVE, scope=name.rpartition("/")[0], label=name.rpartition("/")[2]) for name in ops)]
    assert layers_of(nodes, [(0, 1, Status.LIVE), (1, 2, Status.LIVE)])[1:] == expected


@pytest.mark.parametrize(
    ("scope", "owner", "expected"),
    [
        ("net_1/enc_2", "net/enc", {"net_1": "net", "net_1/enc_2": "enc"}),
        ("stem_1", "net/stem", {"stem_1": "net/stem"}),
        ("outer/net_1/enc", "net/enc", {"outer/net_1": "net", "outer/net_1/enc": "enc"}),
        ("net_1/other", "net/enc", {}),
    ],
)
def test_a_layer_is_recognised_and_called_by_the_variables_that_its_ops_read(scope: str, owner: str, expected: dict[str, str]) -> None:
    nodes = [
        GraphNode(f"{scope}/MatMul", "MatMul", Status.LIVE, scope=scope, label="MatMul", reads=(f"{owner}/kernel", f"{owner}/bias")),
        GraphNode("loss", "Mean", Status.LIVE, label="loss"),
    ]
    assert layers_of(nodes, []) == [scope, ""]
    assert names_of(nodes, []) == expected


def test_a_scope_that_reads_what_two_layers_own_keeps_its_name() -> None:
    nodes = [GraphNode(f"net_1/{n}/Mul", "Mul", Status.LIVE, scope=f"net_1/{n}", label="Mul", reads=(f"{n}/{n}/kernel",)) for n in ("a", "b")]
    assert names_of(nodes, []) == {"net_1/a": "a", "net_1/b": "b"}


def test_a_layer_in_a_branch_in_a_loop_is_one_and_branch_and_loop_are_none() -> None:
    joints = [("while", "While", "variable:0"), ("while/body/while/cond/true", "If", "input:1")]
    nodes = [GraphNode("v", "Variable", Status.LIVE, Role.SOURCE, label="net/kernel")]
    nodes += [GraphNode(f"{scope}/{label}", kind, Status.LIVE, scope=scope, label=label) for scope, kind, label in joints]
    scopes = ["while/body/while/cond/true/while/cond/net_1", "while/body/while/cond/true/while/cond", "while/body/while/cond", "while/body/while", ""]
    nodes += [GraphNode(f"{scope}/Op", "Op", Status.LIVE, scope=scope, label="Op") for scope in scopes]
    edges = [(i, i + 1, Status.LIVE) for i in range(len(nodes) - 1)]
    assert layers_of(nodes, edges)[1:] == [
        "while", "while/body/while/cond/true", scopes[0], "while/body/while/cond/true", "while/body/while/cond", "while", "",
    ]  # fmt: skip
    panel = Panel(0, tuple(nodes), tuple(edges), tuple(layers_of(nodes, edges)), names_of(nodes, edges))
    assert panel.named(scopes[0]) == "while/cond/true/net"
    assert Calls.new(panel).said(panel.layers) == ""


def test_an_op_without_scope_and_label_ends() -> None:
    assert layers_of([GraphNode("a", "Op", Status.LIVE)], []) == [""]


@pytest.mark.parametrize(("scopes", "expected"), [(["a/b/c", "a/b", "a/b/d"], "a/b"), (["ab/c", "a/c"], ""), (["a"], "a"), ([], ""), (["", "a"], "")])
def test_common_scope(scopes: list[str], expected: str) -> None:
    assert common_scope(scopes) == expected


def test_innermost_only() -> None:
    assert innermost_only({"", "a", "a/b", "a/b/c", "d"}) == {"a/b/c", "d"}
