"""The gates of an op against what TensorFlow's tape really hands back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tapetrace.capture.dependence import Value, trace_dependence
from tapetrace.capture.gates import GateProber
from tapetrace.model.trace import Gate, GateTable
from tests.capture.op_table import OpCase, op_cases

F32 = tf.TensorSpec([3], tf.float32)
R = tf.raw_ops
NO_SHAPE = np.zeros([0], np.int32)

ONLY_AT_OTHER_VALUES = {("FakeQuantWithMinMaxVars", 1, 0), ("SparseToDense", 3, 0)}
"""(case, input, output): open gates whose gradient is zero at the values of the table alone."""


def trace(build: Callable[..., Any], *specs: tf.TensorSpec) -> Any:
    """The FuncGraph of ``build``."""
    return tf.function(build, autograph=False).get_concrete_function(*specs).graph


def only(graph: Any, op_type: str) -> Any:
    """The one op of that type."""
    (op,) = [op for op in graph.get_operations() if op.type == op_type]
    return op


def gates(build: Callable[..., Any], op_type: str, *specs: tf.TensorSpec) -> GateTable:
    return GateProber().gates_of(only(trace(build, *(specs or (F32,))), op_type))


# ---- the whole table against TensorFlow


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


# ---- what the registry says


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


# ---- variables and lists


def test_variables() -> None:
    table = tf.Variable(np.ones([5, 3], np.float32))
    counts = tf.Variable([1, 2], dtype=tf.int32)

    def build(i: Any) -> Any:
        R.AssignVariableOp(resource=counts.handle, value=[3, 4])
        return table + 1.0, tf.gather(table, i), table.sparse_read(i), table.gather_nd(i[:, None]), R.VariableShape(input=table.handle), counts + 1

    graph = trace(build, tf.TensorSpec([2], tf.int32))
    prober = GateProber()
    reads = [op for op in graph.get_operations() if op.type == "ReadVariableOp"]
    assert {(op.outputs[0].dtype, prober.gates_of(op).gate(0, 0)) for op in reads} == {(tf.float32, Gate.OPEN), (tf.int32, Gate.NON_FLOAT_OUTPUT)}
    for op in graph.get_operations():
        if op.type in ("ResourceGather", "ResourceGatherNd"):
            assert prober.gates_of(op).rows == ((Gate.OPEN,), (Gate.NON_FLOAT_INPUT,))
    assert prober.gates_of(only(graph, "ResourceGatherNd")).gate(0, 0) is Gate.OPEN
    assert prober.gates_of(only(graph, "VariableShape")).gate(0, 0) is Gate.NON_FLOAT_OUTPUT
    assert prober.gates_of(only(graph, "AssignVariableOp")).rows == ((), ())


def list_ops(x: Any) -> Any:
    handle = R.TensorListFromTensor(tensor=x, element_shape=NO_SHAPE)
    handle = R.TensorListPushBack(input_handle=handle, tensor=x[0])
    handle = R.TensorListSetItem(input_handle=handle, index=0, item=x[1])
    item = R.TensorListGetItem(input_handle=handle, index=1, element_shape=NO_SHAPE, element_dtype=x.dtype)
    stacked = R.TensorListStack(input_handle=handle, element_shape=NO_SHAPE, element_dtype=x.dtype, num_elements=4)
    gathered = R.TensorListGather(input_handle=handle, indices=[0, 2], element_shape=NO_SHAPE, element_dtype=x.dtype)
    rest, last = R.TensorListPopBack(input_handle=handle, element_shape=NO_SHAPE, element_dtype=x.dtype)
    return item, stacked, gathered, last, R.TensorListLength(input_handle=rest)


LIST_OPS = {
    "TensorListFromTensor": (Gate.OPEN, None),
    "TensorListPushBack": (Gate.OPEN, Gate.OPEN),
    "TensorListSetItem": (Gate.OPEN, None, Gate.OPEN),
    "TensorListGetItem": (Gate.OPEN, None, None),
    "TensorListStack": (Gate.OPEN, None),
    "TensorListGather": (Gate.OPEN, None, None),
}


@pytest.mark.parametrize("op_type", sorted(LIST_OPS))
def test_tensor_lists(op_type: str) -> None:
    expected = tuple((g or Gate.NON_FLOAT_INPUT,) for g in LIST_OPS[op_type])
    assert gates(list_ops, op_type).rows == expected


def test_popping_a_tensor_list_is_open_from_the_rest_and_from_the_last() -> None:
    assert gates(list_ops, "TensorListPopBack").rows[0] == (Gate.OPEN, Gate.OPEN)
    assert gates(list_ops, "TensorListLength").rows[0] == (Gate.NON_FLOAT_OUTPUT,)


def test_a_tensor_list_of_integers_carries_nothing() -> None:
    def build(x: Any) -> Any:
        handle = R.TensorListFromTensor(tensor=x, element_shape=NO_SHAPE)
        return R.TensorListStack(input_handle=handle, element_shape=NO_SHAPE, element_dtype=x.dtype, num_elements=3)

    spec = tf.TensorSpec([3], tf.int32)
    assert gates(build, "TensorListFromTensor", spec).rows[0] == (Gate.NON_FLOAT_INPUT,)
    assert gates(build, "TensorListStack", spec).gate(0, 0) in (Gate.NON_FLOAT_INPUT, Gate.NON_FLOAT_OUTPUT)


# ---- tf.custom_gradient


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


# ---- watching must not disturb


def test_probing_while_the_user_traces_and_records_changes_nothing() -> None:
    w = tf.Variable([1.0, 2.0, 3.0])
    hidden = tf.Variable([1.0, 2.0, 3.0])
    prober = GateProber()

    def build(x: Any, probing: bool) -> Any:
        @tf.custom_gradient
        def f(v: Any) -> Any:
            return v * 2.0, lambda dy: dy * hidden

        with tf.GradientTape() as tape:
            y = tf.reduce_sum(f(x * w) + tf.random.normal([3]))
            if probing:
                found = [prober.gates_of(op) for op in tf.compat.v1.get_default_graph().get_operations()]
                assert Gate.OPEN in {g for table in found for row in table.rows for g in row}
            watched = [v.ref() for v in tape.watched_variables()]
        assert watched == [w.ref()]
        return y + tf.random.normal([]), tape.gradient(y, w)

    plain, probed = (tf.function(build, autograph=False).get_concrete_function(F32, p).graph for p in (False, True))
    assert prober.probes > 3

    def listing(graph: Any) -> list[Any]:
        return [(op.type, [t.name for t in op.inputs], op.get_attr("seed2") if "Random" in op.type else None) for op in graph.get_operations()]

    assert [x[0] for x in listing(plain)] == [x[0] for x in listing(probed)]
    assert [x[2] for x in listing(plain)] == [x[2] for x in listing(probed)]
    assert [v.ref() for v in probed.variables] == [v.ref() for v in plain.variables]


def test_python_random_numbers_are_not_drawn() -> None:
    import random

    graph = trace(lambda x: tf.nn.softmax(tf.sort(x * 2.0)), F32)
    before = random.getstate(), np.random.get_state()[1].tolist()
    prober = GateProber()
    for op in graph.get_operations():
        prober.gates_of(op)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_a_mobilenet_has_few_signatures() -> None:
    import keras

    model = keras.applications.MobileNetV2(weights=None, input_shape=(96, 96, 3))

    def forward(x: Any, y: Any) -> Any:
        return tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, model(x, training=True)))

    graph = trace(forward, tf.TensorSpec([8, 96, 96, 3]), tf.TensorSpec([8], tf.int64))
    prober = GateProber()
    tables = [prober.gates_of(op) for op in graph.get_operations()]
    assert len(tables) > 2000
    assert not {Gate.UNKNOWN, Gate.UNREGISTERED} & {g for table in tables for row in table.rows for g in row}
    assert prober.probes <= 60


# ---- dependence by value


@pytest.mark.parametrize(
    ("build", "linear", "nonlinear"),
    [
        (lambda x, y: x + y, 0b11, 0b11),
        (lambda x, y: x * tf.zeros_like(y), 0, 0),
        (lambda x, y: x + tf.zeros([3]) * y, 0b01, 0b01),
        (lambda x, y: tf.reshape(y, tf.shape(x)), 0b10, 0b10),
        (lambda x, y: R.OnesLike(x=x) * y, 0b10, 0b10),
        (lambda x, y: tf.cast(R.Shape(input=x), tf.float32) * y, 0b10, 0b10),
        (lambda x, y: tf.fill([3], tf.cast(tf.size(x), tf.float32)) * y, 0b10, 0b10),
        (lambda x, y: tf.where(x > 0, y, 0.0), 0b10, 0b11),
        (lambda x, y: tf.where(x[0] == x[0], y, float("nan")), 0b10, 0b11),
        (lambda x, y: tf.broadcast_to(tf.zeros([]), [3]) / y, 0, 0),
        (lambda x, y: tf.gather(y, tf.cast(x, tf.int32)), 0b10, 0b11),
        (lambda x, y: tf.ones_like(x) + tf.concat([y[:1], tf.zeros([2])], 0), 0b10, 0b10),
    ],
)
def test_dependence_by_value(build: Callable[..., Any], linear: int, nonlinear: int) -> None:
    graph = trace(build, F32, F32)
    known = {t.name: Value(1 << k) for k, t in enumerate(graph.inputs)}
    assert trace_dependence(graph, known, linear=True)[graph.outputs[0].name].depends == linear
    assert trace_dependence(graph, known, linear=False)[graph.outputs[0].name].depends == nonlinear


def test_comparing_a_tensor_with_itself_says_nothing_about_it() -> None:
    def build(x: Any) -> Any:
        first = x[0]
        return tf.where(tf.equal(first, first), 0.0, 1.0)

    graph = trace(build, F32)
    assert trace_dependence(graph, {graph.inputs[0].name: Value(1)}, linear=False)[graph.outputs[0].name].depends == 0
