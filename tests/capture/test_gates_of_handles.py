"""The gates of ops that read and write variables and tensor lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tapetrace.capture.gates import GateProber
from tapetrace.model.trace import Gate
from tests.capture.traced_ops import gates, only, trace

R = tf.raw_ops
NO_SHAPE = np.zeros([0], np.int32)


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
