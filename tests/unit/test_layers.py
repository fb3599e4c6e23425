"""Which layer an op is in, by its scope and by who owns the variables that are read there."""

from __future__ import annotations

import pytest

from tapetrace.model.graph import GraphNode, Role, Status
from tapetrace.render.layers import common_scope, innermost_only, layers_of


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


def test_an_op_without_scope_and_label_ends() -> None:
    assert layers_of([GraphNode("a", "Op", Status.LIVE)], []) == [""]


@pytest.mark.parametrize(("scopes", "expected"), [(["a/b/c", "a/b", "a/b/d"], "a/b"), (["ab/c", "a/c"], ""), (["a"], "a"), ([], ""), (["", "a"], "")])
def test_common_scope(scopes: list[str], expected: str) -> None:
    assert common_scope(scopes) == expected


def test_innermost_only() -> None:
    assert innermost_only({"", "a", "a/b", "a/b/c", "d"}) == {"a/b/c", "d"}
