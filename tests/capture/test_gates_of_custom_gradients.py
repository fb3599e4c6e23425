"""The gates of `tf.custom_gradient`, and of gradients registered under another name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from tapetrace.capture.gates import GateProber
from tapetrace.model.trace import Gate
from tests.capture.traced_ops import F32, gates, only, trace


def custom(grad: Callable[..., Any]) -> Callable[..., Any]:
    @tf.custom_gradient
    def f(x: Any, y: Any) -> Any:
        return x + y, grad

    return lambda x: f(x, tf.exp(x))


MADE_EAGERLY = tf.ones([3])


@tf.function
def _doubled(dy: Any) -> Any:
    return dy * 2.0, tf.zeros_like(dy)


@pytest.mark.parametrize(
    ("grad", "expected"),
    [
        (lambda dy: (dy, dy * 2.0), (Gate.OPEN, Gate.OPEN)),
        (lambda dy: (None, dy), (Gate.CUSTOM_NONE, Gate.OPEN)),
        (lambda dy: (tf.zeros_like(dy), dy), (Gate.CUSTOM_ZERO, Gate.OPEN)),
        (lambda dy: (dy * 0.0, tf.ones([3])), (Gate.CUSTOM_ZERO, Gate.OPEN)),
        (lambda dy: (tf.where(dy > 0, 1.0, 0.0), tf.cast(tf.shape(dy), tf.float32) * tf.ones([3])), (Gate.OPEN, Gate.OPEN)),
        (lambda dy: (tf.IndexedSlices(dy, [0, 1, 2], [3]), 0.0 * tf.square(dy)), (Gate.OPEN, Gate.CUSTOM_ZERO)),
        (lambda dy: (MADE_EAGERLY, dy + MADE_EAGERLY), (Gate.OPEN, Gate.OPEN)),
        (_doubled, (Gate.OPEN, Gate.CUSTOM_ZERO)),
        (
            lambda dy: (tf.cond(dy[0] > 0, lambda: dy, lambda: -dy), tf.cond(tf.random.uniform([]) > 0, lambda: tf.zeros([3]), lambda: dy * 0.0)),
            (Gate.OPEN, Gate.CUSTOM_ZERO),
        ),
        (
            lambda dy: tf.while_loop(lambda n, a, b, c: n < 3, lambda n, a, b, c: (n + 1, b, c, c), (0, tf.zeros([3]), tf.zeros([3]), dy))[1:3],
            (Gate.OPEN, Gate.OPEN),
        ),
        (
            lambda dy: tf.while_loop(lambda n, a, b: n < 3, lambda n, a, b: (n + 1, a * 2.0, b), (0, tf.zeros([3]), dy))[1:],
            (Gate.CUSTOM_ZERO, Gate.OPEN),
        ),
    ],
)
def test_custom_gradient(grad: Callable[..., Any], expected: tuple[Gate, Gate]) -> None:
    table = gates(custom(grad), "IdentityN")
    assert [row[0] for row in table.rows] == [Gate.CUSTOM_NONE, *expected], table.note
    # Nothing reads the second and third output, which the function is handed no gradient of; what leaves all of them out counts for each.
    assert all(set(row[1:]) <= {Gate.CUSTOM_NONE, Gate.CUSTOM_ZERO} or set(row) == {Gate.OPEN} for row in table.rows)


def test_two_custom_gradients_do_not_share_an_answer() -> None:
    def build(x: Any) -> Any:
        return custom(lambda dy: (dy, dy))(x) + custom(lambda dy: (None, None))(x)

    prober = GateProber()
    found = [prober.gates_of(op).gate(1, 0) for op in trace(build, F32).get_operations() if op.type == "IdentityN"]
    assert found == [Gate.OPEN, Gate.CUSTOM_NONE]


def test_a_custom_gradient_that_raises_is_unknown() -> None:
    def grad(dy: Any) -> Any:
        raise KeyError("no such weight")

    table = gates(custom(grad), "IdentityN")
    assert {g for row in table.rows for g in row} == {Gate.UNKNOWN}
    assert table.note == "KeyError: 'no such weight'"


def test_a_custom_gradient_that_uses_tensors_of_the_users_graph_leaves_that_graph_alone() -> None:
    def build(x: Any) -> Any:
        hidden = tf.sin(x)

        @tf.custom_gradient
        def f(v: Any) -> Any:
            return v * hidden, lambda dy: dy * hidden + tf.random.normal([3])

        return f(x)

    graph = trace(build, F32)
    before = graph.as_graph_def().SerializeToString(deterministic=True)
    assert GateProber().gates_of(only(graph, "IdentityN")).gate(1, 0) is Gate.OPEN
    assert graph.as_graph_def().SerializeToString(deterministic=True) == before


@pytest.mark.parametrize(("variable_gradient", "gate"), [(lambda dy: dy, Gate.OPEN), (lambda dy: None, Gate.CUSTOM_NONE)])
def test_variables_of_a_custom_gradient(variable_gradient: Callable[..., Any], gate: Gate) -> None:
    w = tf.Variable([1.0, 2.0, 3.0])

    @tf.custom_gradient
    def f(x: Any) -> Any:
        def grad(dy: Any, variables: Any = None) -> Any:
            return dy * variables[0], [variable_gradient(dy)]

        return x * w, grad

    assert [row[0] for row in gates(f, "IdentityN").rows] == [Gate.CUSTOM_NONE, Gate.OPEN, gate]


def test_recompute_grad_opens_a_tape_of_its_own() -> None:
    w = tf.Variable([1.0, 2.0, 3.0])
    table = gates(tf.recompute_grad(lambda x: (x * w, tf.round(x))), "IdentityN")
    assert [row[:2] for row in table.rows] == [
        (Gate.CUSTOM_NONE, Gate.CUSTOM_NONE),
        (Gate.CUSTOM_NONE, Gate.CUSTOM_NONE),
        (Gate.OPEN, Gate.CUSTOM_ZERO),
        (Gate.OPEN, Gate.CUSTOM_ZERO),
    ], table.note


def test_grad_pass_through_is_open() -> None:
    assert gates(lambda x: tf.grad_pass_through(tf.round)(x), "IdentityN").gate(1, 0) is Gate.OPEN


def test_a_registered_gradient_that_overrides_the_type() -> None:
    @tf.RegisterGradient("TapetraceTestStraightThrough")
    def straight_through(op: Any, dy: Any) -> Any:
        return tf.where(dy > 0, 1.0, 0.0)

    def build(x: Any) -> Any:
        with tf.compat.v1.get_default_graph().gradient_override_map({"Round": "TapetraceTestStraightThrough", "Floor": "TapetraceTestUnheardOf"}):
            return tf.round(x), tf.floor(x)

    graph = trace(build, F32)
    prober = GateProber()
    assert prober.gates_of(only(graph, "Round")).gate(0, 0) is Gate.OPEN
    assert prober.gates_of(only(graph, "Floor")).gate(0, 0) is Gate.UNREGISTERED
