"""The gates of an op against what TensorFlow's tape really hands back, and what the registry says of single ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tapetrace.capture.gates import GateProber
from tapetrace.model.trace import Gate
from tests.capture.op_table import OpCase, op_cases
from tests.capture.traced_ops import F32, gates, only, trace

R = tf.raw_ops

ONLY_AT_OTHER_VALUES = {("FakeQuantWithMinMaxVars", 1, 0), ("SparseToDense", 3, 0)}
"""(case, input, output): open gates whose gradient is zero at the values of the table alone."""


def differentiate(case: OpCase) -> tuple[Any, dict[tuple[int, int], Any]]:
    """The op of the case, and per (input, output), both float: None, the gradient as an array, or the exception that TensorFlow raised."""
    made: dict[str, Any] = {}
    handed: dict[tuple[int, int], Any] = {}

    def is_float(t: Any) -> bool:
        return bool(t.dtype.is_floating or t.dtype.is_complex)

    @tf.function(autograph=False)
    def run(*arguments: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([a for a in arguments if is_float(a)])
            op = case.build(*arguments).op
        made["op"] = op
        tensors = {}
        for i, t in enumerate(op.inputs):
            for j, output in enumerate(op.outputs):
                if is_float(t) and is_float(output) and any(t is a for a in arguments):
                    weights = tf.cast(tf.reshape(tf.linspace(0.5, 1.5, tf.size(output)), tf.shape(output)), output.dtype)
                    weights *= tf.constant(1 + 0.3j, tf.complex64) if output.dtype.is_complex else 1
                    try:
                        gradient = tape.gradient(output, t, output_gradients=weights)
                    except Exception as error:  # whatever the gradient function or the tape raises is the oracle's answer
                        handed[i, j] = error
                        continue
                    handed[i, j] = None
                    if gradient is not None:
                        tensors[f"{i},{j}"] = tf.convert_to_tensor(gradient)
        return tensors

    for key, gradient in run(*(tf.constant(a) for a in case.arguments)).items():
        i, j = key.split(",")
        handed[int(i), int(j)] = gradient.numpy()
    return made["op"], handed


def expected_gates(case: OpCase, i: int, j: int, handed: Any) -> set[Gate]:
    if isinstance(handed, LookupError):
        return {Gate.UNREGISTERED}
    if isinstance(handed, Exception):
        return {Gate.UNKNOWN}
    if handed is None:
        return {Gate.NONE, Gate.NOT_DIFFERENTIABLE}
    nonzero = bool(np.any(handed.astype(np.complex128) != 0))
    return {Gate.OPEN} if nonzero or (case.name, i, j) in ONLY_AT_OTHER_VALUES else {Gate.ZERO}


@pytest.fixture(scope="module")
def prober() -> GateProber:
    """One for the whole table, so that a wrongly shared answer shows."""
    return GateProber()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("case", list(op_cases()), ids=lambda c: c.name)
def test_gates_are_what_the_tape_hands_back(case: OpCase, prober: GateProber) -> None:
    op, handed = differentiate(case)
    table = prober.gates_of(op)
    wrong = {(i, j): (table.gate(i, j), h) for (i, j), h in handed.items() if table.gate(i, j) not in expected_gates(case, i, j, h)}
    assert not wrong
    for i, t in enumerate(op.inputs):
        for j, output in enumerate(op.outputs):
            if not (t.dtype.is_floating or t.dtype.is_complex):
                assert table.gate(i, j) is Gate.NON_FLOAT_INPUT
            elif not (output.dtype.is_floating or output.dtype.is_complex):
                assert table.gate(i, j) is Gate.NON_FLOAT_OUTPUT


@pytest.mark.parametrize(
    ("build", "op_type", "gate"),
    [
        (lambda x: tf.sign(x), "Sign", Gate.ZERO),
        (lambda x: tf.round(x), "Round", Gate.NONE),
        (lambda x: tf.stop_gradient(x), "StopGradient", Gate.NOT_DIFFERENTIABLE),
        (lambda x: R.PreventGradient(input=x, message="second order"), "PreventGradient", Gate.NONE),
        (lambda x: R.Snapshot(input=x), "Snapshot", Gate.UNREGISTERED),
        (lambda x: tf.cast(x, tf.int32), "Cast", Gate.NON_FLOAT_OUTPUT),
        (lambda x: tf.py_function(lambda v: v, [x], tf.float32), "EagerPyFunc", Gate.PYTHON),
        (lambda x: tf.py_function(lambda v: v, [x], tf.int32), "EagerPyFunc", Gate.NON_FLOAT_OUTPUT),
        (lambda x: tf.numpy_function(lambda v: v, [x], tf.float32), "PyFunc", Gate.NOT_DIFFERENTIABLE),
        (lambda x: tf.numpy_function(lambda v: v, [x], tf.float32, stateful=False), "PyFuncStateless", Gate.NOT_DIFFERENTIABLE),
        (lambda x: x * 0.0, "Mul", Gate.ZERO),
        (lambda x: x * 2.0, "Mul", Gate.OPEN),
        (lambda x: 0.0 / x, "RealDiv", Gate.ZERO),
        (lambda x: tf.linalg.matvec(tf.zeros([2, 3]), x), "MatMul", Gate.ZERO),
    ],
)
def test_gate_of_one_op(build: Callable[..., Any], op_type: str, gate: Gate) -> None:
    op = only(trace(build, F32), op_type)
    i = next(i for i, t in enumerate(op.inputs) if t.op.type != "Const")
    assert GateProber().gates_of(op).gate(i, 0) is gate


def test_constants_that_differ_in_being_zero_do_not_share_an_answer() -> None:
    graph = trace(lambda x: (x * 2.0, x * 0.0, x * 3.0), F32)
    prober = GateProber()
    assert [prober.gates_of(op).gate(0, 0) for op in graph.get_operations() if op.type == "Mul"] == [Gate.OPEN, Gate.ZERO, Gate.OPEN]


def test_what_a_gradient_function_refuses_is_unknown_with_its_words() -> None:
    table = gates(lambda x: R.Qr(input=x, full_matrices=True)[0], "Qr", tf.TensorSpec([4, 3], tf.float32))
    assert table.gate(0, 0) is Gate.UNKNOWN
    assert table.note.startswith("NotImplementedError: QrGrad not implemented when nrows > ncols and full_matrices is true")


def test_sizes_that_linear_algebra_refuses_are_told_apart() -> None:
    prober = GateProber()
    found = []
    for rows in (3, 4):
        graph = trace(lambda x: R.Qr(input=x, full_matrices=True)[0], tf.TensorSpec([rows, 3], tf.float32))
        found.append(prober.gates_of(only(graph, "Qr")).gate(0, 0))
    assert found == [Gate.OPEN, Gate.UNKNOWN]


@pytest.mark.parametrize("shape", [None, [None], [None, 4], [2, 4]])
def test_unknown_shapes_change_nothing(shape: list[int | None] | None) -> None:
    graph = trace(lambda x: (tf.reduce_sum(x * x), tf.sort(tf.reshape(x, [-1]))), tf.TensorSpec(shape, tf.float32))
    prober = GateProber()
    assert list(prober.gates_of(only(graph, "Mul")).rows) == [(Gate.OPEN,), (Gate.OPEN,)]
    assert prober.gates_of(only(graph, "TopKV2")).gate(0, 0) is Gate.OPEN
    assert prober.gates_of(only(graph, "Sum")).rows == ((Gate.OPEN,), (Gate.NON_FLOAT_INPUT,))


def test_an_op_without_inputs_has_no_gates() -> None:
    assert gates(lambda x: tf.random.normal([2], dtype=x.dtype) + x[0], "Placeholder").rows == ()


@pytest.mark.parametrize(
    "build",
    [
        lambda x: tf.function(lambda v: v * 2.0)(x),
        lambda x: tf.cond(x[0] > 0, lambda: x, lambda: -x),
        lambda x: tf.switch_case(tf.cast(x[0], tf.int32), [lambda: x, lambda: -x]),
        lambda x: tf.while_loop(lambda v: v[0] < 3.0, lambda v: [v * 2.0], [x]),
    ],
)
def test_ops_that_run_function_bodies_are_refused(build: Callable[..., Any]) -> None:
    graph = trace(build, F32)
    (op,) = [
        op
        for op in graph.get_operations()
        if op.type in {"StatefulPartitionedCall", "PartitionedCall", "StatelessIf", "StatelessCase", "StatelessWhile"}
    ]
    with pytest.raises(ValueError, match="runs function bodies"):
        GateProber().gates_of(op)
