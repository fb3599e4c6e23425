"""What random programs are made of: expressions on float32[3], as source text with places for names."""

from __future__ import annotations

PRELUDE = """\
import numpy as np
import tensorflow as tf

from tests.capture.random_functions import *

"""
"""In a module of their own, the functions are converted by AutoGraph once, not for each program."""

SMOOTH = (
    "tf.sin({a})",
    "tf.tanh({a})",
    "tf.sigmoid({a})",
    "tf.nn.softplus({a})",
    "tf.square({a}) * 0.5",
    "tf.reverse({a}, [0])",
    "tf.identity({a})",
    "tf.reduce_sum({a}) * tf.ones([3])",
    "tf.cumsum({a})",
    "tf.gather({a}, [2, 0, 1])",
    "tf.reshape(tf.stack([{a}, {a}]), [2, 3])[0]",
    "tf.concat([{a}[1:], {a}[:1]], 0)",
    "straight_through({a})",
    "tf.map_fn(lambda e: tf.sin(e), {a})",
    "tf.exp(tf.tanh({a}))",
    "tf.sort({a})",
    "tf.nn.top_k({a}, 3).values",
    "in_an_array({a})",
    "until_small({a})",
    "tf.nn.embedding_lookup({a}, [0, 2, 1])",
    "tf.scatter_nd([[2], [0], [2]], {a}, [3]) + 0.1 * tf.sin({a})",
    "tf.math.unsorted_segment_sum({a}, [2, 0, 2], 3) + 0.1 * tf.sin({a})",
    "tf.reduce_sum(tf.RaggedTensor.from_row_lengths({a}, [2, 0, 1]), axis=1) * tf.ones([3])",
    "tf.ensure_shape(tf.RaggedTensor.from_row_splits({a}, [0, 0, 3]).to_tensor(0.2)[1], [3])",
    "tf.ragged.map_flat_values(tf.sin, tf.RaggedTensor.from_row_lengths({a}, [1, 2])).flat_values",
    "tf.sparse.to_dense(tf.SparseTensor([[0], [1], [2]], {a}, [3]))",
    "tf.sparse.reduce_sum(tf.SparseTensor([[0, 1], [1, 0], [1, 2]], {a}, [2, 3])) * tf.ones([3])",
    "tf.recompute_grad(lambda e: tf.sin(e) * 0.5)({a})",
    "tf.vectorized_map(lambda e: tf.tanh(e) * 0.5, {a})",
    "tf.scan(lambda s, e: s * 0.5 + e, {a})",
    "tf.foldl(lambda s, e: s * 0.5 + e, {a}) * tf.ones([3])",
    "tf.math.real(tf.signal.ifft(tf.signal.fft(tf.cast({a}, tf.complex64))))",
    "tf.cast(tf.cast({a}, tf.float64), tf.float32)",
)
BINARY = (
    "{a} + {b}",
    "{a} * {b}",
    "tf.where(x > 0.1, {a}, {b})",
    "tf.add_n([{a}, {b}, {a}])",
    "tf.concat([{a}[:1], {b}[1:]], 0) + 0.1 * tf.reduce_sum({a} * {b})",
    "one_sided({a}, {b})",
    "tf.linalg.matvec({a}[:, None] + tf.eye(3), {b})",
    "tf.einsum('i,j->i', {a}, {b})",
    "tf.tensor_scatter_nd_update({a}, [[0]], {b}[:1]) + 0.1 * tf.reduce_sum({a} * {b})",
    "tf.cond(x[0] > 0.0, lambda: {a}, lambda: {b})",
    "tf.cond(x[1] > 0.0, lambda: tf.stop_gradient({a}), lambda: tf.sin({b}))",
    "tf.switch_case(tf.cast(x[0] > 0.0, tf.int32) + tf.cast(x[1] > 0.0, tf.int32), [lambda: {a}, lambda: {b} * 0.5, lambda: {a} * {b}])",
    "tf.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s * 0.5 + {b}), (0, {a}), maximum_iterations=3)[1]",
    "tf.dynamic_stitch([[0, 2], [1]], [{a}[:2], {b}[:1]]) + 0.1 * tf.reduce_sum({a} * {b})",
    "tf.sparse.sparse_dense_matmul(tf.SparseTensor([[0, 1], [1, 0], [2, 2]], {a}, [3, 3]), {b}[:, None])[:, 0]",
    "tf.map_fn(lambda e: e[0] * e[1], ({a}, {b}), fn_output_signature=tf.float32)",
    "tf.stack([{a}, {b}])[tf.cast(x[0] > 0.0, tf.int32)] + 0.1 * tf.reduce_sum({a} * {b})",
)
BREAKS = (
    "tf.stop_gradient({a})",
    "tf.floor({a}) + 0.7",
    "tf.sign({a}) + 0.5",
    "tf.cast(tf.cast({a} * 5.0, tf.int32), tf.float32) + 0.3",
    "tf.one_hot(tf.argmax({a}), 3) + 0.2",
    "tf.ensure_shape(tf.numpy_function(as_numpy, [{a}], tf.float32), [3]) + 1.3",
    "tf.map_fn(lambda e: tf.stop_gradient(e) + 0.4, {a})",
    "tf.gather({b}, tf.argsort({a}))",
    "without_gradient({a})",
    "with_zeros({a})",
    "tf.cast({a} > 0.1, tf.float32) + 0.2",
    "tf.image.hsv_to_rgb(tf.sigmoid({a})[None])[0]",
    "tf.scan(lambda s, e: s * 0.5 + tf.round(e), {a}) + 0.4",
    "tf.vectorized_map(lambda e: tf.stop_gradient(e) * 0.5 + 0.4, {a})",
    "tf.sparse.to_dense(tf.SparseTensor([[0], [1], [2]], tf.round({a}) + 0.3, [3]))",
)
RARE_BREAKS = (
    "tf.raw_ops.Snapshot(input={a})",
    "tf.ensure_shape(tf.py_function(tf.sin, [{a}], tf.float32), [3])",
)
"""One makes a whole gradient call raise, the other has Python decide: with many of them there would be little else to see."""

CONDITIONS = ("x[0] > 0.0", "x[0] < 0.0", "x[1] > 0.0", "tf.reduce_sum(x) > 0.0")
WRITES = ("s.assign({a})", "s.assign_add({a} * 0.1)", "s.scatter_nd_update([[1]], {a}[:1])", "s.scatter_add(tf.IndexedSlices({a}[:2], [0, 1]))")
ENDS_OF_ARRAYS = (
    "tf.reduce_sum({t}.stack(), axis=0)",
    "{t}.read(1)",
    "{t}.gather([1, 0])[0]",
    "{t}.concat()[:3]",
    "tf.add_n(tf.unstack({t}.stack(), 2))",
)
