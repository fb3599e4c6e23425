"""Ops with gradients that the table of tests/capture lacks, each with arguments that TensorFlow can run it on here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tests.capture.op_table import COMPLEX, IMAGE, ROW, SQUARE, VOLUME, A, B, OpCase

R = tf.raw_ops
STRIDES = [1, 1, 1, 1]
KERNEL = np.linspace(0.1, 0.9, 54, dtype=np.float32).reshape(3, 3, 3, 2)
KERNEL_3D = np.linspace(0.1, 0.9, 48, dtype=np.float32).reshape(2, 2, 2, 2, 3)
SPLITS = np.array([0, 1, 2], np.int64)
AT = np.array([[0, 1], [2, 2]], np.int64)
SHAPE = np.array([3, 4], np.int64)
TWO = ROW[:2]


def more_op_cases() -> Iterator[OpCase]:
    yield from _plain()
    yield from _gradients_of_ops()
    yield from _older_versions()
    yield from _sparse()
    yield from _lists()
    yield from _arrays()
    yield from _state()


def _case(name: str, build: Callable[..., Any], *arguments: Any) -> OpCase:
    return OpCase(name, build, arguments)


def _plain() -> Iterator[OpCase]:
    for name in ("BesselJ1", "BesselK0e", "BesselK1", "BesselK1e", "BesselY1"):
        yield _case(name, lambda x, n=name: getattr(R, n)(x=x), A)
    yield _case("AccumulateNV2", lambda x, y: R.AccumulateNV2(inputs=[x, y], shape=[3, 4]), A, B)
    yield _case("ApproxTopK", lambda x: R.ApproxTopK(input=x, k=2), A)
    yield _case("BandedTriangularSolve", lambda m, y: R.BandedTriangularSolve(matrix=m, rhs=y), SQUARE[:2], SQUARE)
    yield _case("BatchMatMul", lambda x, y: R.BatchMatMul(x=x, y=y, adj_y=True), A[None], B[None])
    yield _case("BatchMatMulV3", lambda x, y: R.BatchMatMulV3(x=x, y=y, Tout=tf.float32, adj_y=True), A[None], B[None])
    yield _case("CheckNumericsV2", lambda x: R.CheckNumericsV2(tensor=x, message="m"), A)
    yield _case("DebugIdentityV2", lambda x: R.DebugIdentityV2(input=x), A)
    yield _case("DebugGradientIdentity", lambda x: R.DebugGradientIdentity(input=x), A)
    yield _case("ExtractVolumePatches", lambda x: R.ExtractVolumePatches(input=x, ksizes=[1, 2, 2, 2, 1], strides=[1] * 5, padding="SAME"), VOLUME)
    yield _case("FFT3D", lambda x: R.FFT3D(input=x), COMPLEX[None])
    yield _case("IFFT3D", lambda x: R.IFFT3D(input=x), COMPLEX[None])
    yield _case("IRFFT2D", lambda x: R.IRFFT2D(input=x, fft_length=[4, 6]), COMPLEX)
    per_channel = (np.float32([0.1] * 4), np.float32([0.7] * 4))
    yield _case("FakeQuantWithMinMaxVarsPerChannel", lambda x, a, b: R.FakeQuantWithMinMaxVarsPerChannel(inputs=x, min=a, max=b), A, *per_channel)
    yield _case("FractionalAvgPool", lambda x: R.FractionalAvgPool(value=x, pooling_ratio=[1.0, 1.5, 1.5, 1.0])[0], IMAGE)
    turn = np.float32([[1, 0.1, 0, 0, 1, 0.2, 0, 0]] * 2)
    yield _case(
        "ImageProjectiveTransformV2",
        lambda x, t: R.ImageProjectiveTransformV2(images=x, transforms=t, output_shape=[4, 4], interpolation="BILINEAR"),
        IMAGE, turn,
    )  # fmt: skip
    yield _case(
        "ImageProjectiveTransformV3",
        lambda x, t, f: R.ImageProjectiveTransformV3(images=x, transforms=t, output_shape=[4, 4], fill_value=f, interpolation="BILINEAR"),
        IMAGE, turn, np.float32(0.5),
    )  # fmt: skip
    yield _case("IsotonicRegression", lambda x: R.IsotonicRegression(input=x)[0], A)
    yield _case("ParallelDynamicStitch", lambda x, y: R.ParallelDynamicStitch(indices=[[0, 1, 2], [3, 4, 5]], data=[x, y]), A, B)
    yield _case("PreventGradient", lambda x: R.PreventGradient(input=x, message="m"), A)
    yield _case("Print", lambda x: R.Print(input=x, data=[], message="", first_n=0), A)
    bounds = {"input_min": 0.0, "input_max": 1.0}
    yield _case("QuantizeAndDequantize", lambda x: R.QuantizeAndDequantize(input=x, **bounds), A)
    yield _case(
        "QuantizeAndDequantizeV2", lambda x, a, b: R.QuantizeAndDequantizeV2(input=x, input_min=a, input_max=b), A, np.float32(0), np.float32(1)
    )
    yield _case(
        "QuantizeAndDequantizeV3",
        lambda x, a, b: R.QuantizeAndDequantizeV3(input=x, input_min=a, input_max=b, num_bits=8), A, np.float32(0), np.float32(1),
    )  # fmt: skip
    yield _case("TridiagonalMatMul", lambda a, b, c, y: R.TridiagonalMatMul(superdiag=a, maindiag=b, subdiag=c, rhs=y), *[SQUARE[:1]] * 3, SQUARE)
    yield _case("StatelessRandomGammaV2", lambda a: R.StatelessRandomGammaV2(shape=[2, 4], seed=[1, 2], alpha=a), ROW + 1)
    yield _case(
        "StatelessRandomGammaV3",
        lambda a: R.StatelessRandomGammaV3(shape=[2, 4], key=np.uint64([1]), counter=np.uint64([1, 2]), alg=1, alpha=a), ROW + 1,
    )  # fmt: skip
    yield _case(
        "StatelessParameterizedTruncatedNormal",
        lambda m, s, a, b: R.StatelessParameterizedTruncatedNormal(shape=[2, 4], seed=[1, 2], means=m, stddevs=s, minvals=a, maxvals=b),
        ROW, ROW + 1, ROW - 3, ROW + 3,
    )  # fmt: skip
    yield _case("XlaEinsum", lambda x, y: R.XlaEinsum(a=x, b=y, equation="ij,kj->ik"), A, B)
    yield _case(
        "OptionalFromValue",
        lambda x: R.OptionalGetValue(optional=R.OptionalFromValue(components=[x, x * 2]), output_types=[tf.float32] * 2, output_shapes=[[3, 4]] * 2),
        A,
    )
    size, cells = 4, 16
    zeros = np.zeros([2, size], np.float32)
    lstm = {"seq_len_max": np.int64(2), "forget_bias": 1.0, "cell_clip": 0.0, "use_peephole": False}
    weights = np.linspace(-0.4, 0.4, 7 * cells, dtype=np.float32).reshape(7, cells)
    for name in ("BlockLSTM", "BlockLSTMV2"):
        extra = {k: v for k, v in lstm.items() if name == "BlockLSTM" or k != "forget_bias"}
        yield _case(
            name,
            lambda x, c, h, w, b, n=name, e=extra: getattr(R, n)(x=x, cs_prev=c, h_prev=h, w=w, wci=ROW, wcf=ROW, wco=ROW, b=b, **e)[6],
            IMAGE[:, :2, 0], zeros + 0.1, zeros + 0.2, weights, np.zeros([cells], np.float32),
        )  # fmt: skip


def _gradients_of_ops() -> Iterator[OpCase]:
    """Backward ops have gradients of their own, which second order needs."""
    for name in ("SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "InvGrad", "ReciprocalGrad"):
        yield _case(name, lambda y, dy, n=name: getattr(R, n)(y=y, dy=dy), A, B)
    for name in ("ReluGrad", "Relu6Grad", "LeakyReluGrad", "SoftplusGrad"):
        yield _case(name, lambda dy, x, n=name: getattr(R, n)(gradients=dy, features=x), A, B - 0.5)
    for name in ("EluGrad", "SeluGrad"):
        yield _case(name, lambda dy, y, n=name: getattr(R, n)(gradients=dy, outputs=y), A, B - 0.5)
    yield _case("BiasAddGrad", lambda dy: R.BiasAddGrad(out_backprop=dy), A)
    yield _case("MirrorPadGrad", lambda x: R.MirrorPadGrad(input=x, paddings=[[1, 0], [0, 1]], mode="REFLECT"), A)
    yield _case("StridedSliceGrad", lambda dy: R.StridedSliceGrad(shape=[5, 4], begin=[0, 0], end=[3, 4], strides=[1, 1], dy=dy), A)
    conv = {"strides": STRIDES, "padding": "SAME"}
    dy = IMAGE[..., :2]
    depthwise = IMAGE.repeat(2, 3)
    yield _case("Conv2DBackpropFilter", lambda x, g: R.Conv2DBackpropFilter(input=x, filter_sizes=[3, 3, 3, 2], out_backprop=g, **conv), IMAGE, dy)
    yield _case(
        "DepthwiseConv2dNativeBackpropInput",
        lambda k, g: R.DepthwiseConv2dNativeBackpropInput(input_sizes=[2, 6, 6, 3], filter=k, out_backprop=g, **conv), KERNEL, depthwise,
    )  # fmt: skip
    yield _case(
        "DepthwiseConv2dNativeBackpropFilter",
        lambda x, g: R.DepthwiseConv2dNativeBackpropFilter(input=x, filter_sizes=[3, 3, 3, 2], out_backprop=g, **conv), IMAGE, depthwise,
    )  # fmt: skip
    conv3d = {"strides": [1] * 5, "padding": "SAME"}
    dy3d = VOLUME[..., [0, 1, 0]]
    yield _case(
        "Conv3DBackpropInputV2",
        lambda k, g: R.Conv3DBackpropInputV2(input_sizes=[1, 4, 4, 4, 2], filter=k, out_backprop=g, **conv3d), KERNEL_3D, dy3d,
    )  # fmt: skip
    yield _case(
        "Conv3DBackpropFilterV2",
        lambda x, g: R.Conv3DBackpropFilterV2(input=x, filter_sizes=[2, 2, 2, 2, 3], out_backprop=g, **conv3d), VOLUME, dy3d,
    )  # fmt: skip
    pool = {"ksize": [1, 2, 2, 1], "strides": STRIDES, "padding": "SAME"}
    pool3d = {"ksize": [1, 2, 2, 2, 1], "strides": [1] * 5, "padding": "SAME"}
    yield _case("AvgPoolGrad", lambda g: R.AvgPoolGrad(orig_input_shape=[2, 6, 6, 3], grad=g, **pool), IMAGE)
    yield _case("AvgPool3DGrad", lambda g: R.AvgPool3DGrad(orig_input_shape=[1, 4, 4, 4, 2], grad=g, **pool3d), VOLUME)
    for name in ("MaxPoolGrad", "MaxPoolGradV2", "MaxPoolGradGrad"):
        yield _case(
            name,
            lambda x, y, g, n=name: getattr(R, n)(orig_input=x, orig_output=y, grad=g, **pool),
            IMAGE,
            tf.nn.max_pool2d(IMAGE, 2, 1, "SAME").numpy(),
            IMAGE,
        )
    for name in ("MaxPool3DGrad", "MaxPool3DGradGrad"):
        yield _case(
            name,
            lambda x, y, g, n=name: getattr(R, n)(orig_input=x, orig_output=y, grad=g, **pool3d),
            VOLUME,
            tf.nn.max_pool3d(VOLUME, 2, 1, "SAME").numpy(),
            VOLUME,
        )
    row = ROW[:3]
    for name in ("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"):
        more = {"reserve_space_3": row} if name.endswith("V3") else {}
        for training in (True, False):
            yield _case(
                f"{name} training={training}",
                lambda g, x, s, m, v, n=name, e=more, t=training: getattr(R, n)(
                    y_backprop=g, x=x, scale=s, reserve_space_1=m, reserve_space_2=v, is_training=t, **e
                )[:3],
                IMAGE, IMAGE[::-1].copy(), row, row, row + 1,
            )  # fmt: skip
    yield _case(
        "QuantizeAndDequantizeV4Grad",
        lambda g, x: R.QuantizeAndDequantizeV4Grad(gradients=g, input=x, input_min=0.0, input_max=1.0)[0], A, B,
    )  # fmt: skip


def _older_versions() -> Iterator[OpCase]:
    yield _case("BiasAddV1", lambda x, b: R.BiasAddV1(value=x, bias=b), A, ROW)
    yield _case("BatchToSpace", lambda x: R.BatchToSpace(input=x, crops=[[0, 0], [0, 0]], block_size=2), np.concatenate([IMAGE, IMAGE]))
    yield _case("SpaceToBatch", lambda x: R.SpaceToBatch(input=x, paddings=[[0, 0], [0, 0]], block_size=2), IMAGE)
    yield _case("Concat", lambda x, y: R.Concat(concat_dim=0, values=[x, y]), A, B)
    yield _case("Gather", lambda x, i: R.Gather(params=x, indices=i), A, np.int32([0, 2]))
    yield _case("MatrixDiag", lambda x: R.MatrixDiag(diagonal=x), ROW)
    yield _case("MatrixDiagV2", lambda x: R.MatrixDiagV2(diagonal=x, k=0, num_rows=-1, num_cols=-1, padding_value=0.0), ROW)
    yield _case("MatrixDiagPart", lambda x: R.MatrixDiagPart(input=x), SQUARE)
    yield _case("MatrixDiagPartV2", lambda x: R.MatrixDiagPartV2(input=x, k=0, padding_value=0.0), SQUARE)
    yield _case("MatrixSetDiag", lambda x, d: R.MatrixSetDiag(input=x, diagonal=d), SQUARE, ROW[:3])
    yield _case("MatrixSetDiagV2", lambda x, d: R.MatrixSetDiagV2(input=x, diagonal=d, k=0), SQUARE, ROW[:3])
    yield _case("Reverse", lambda x: R.Reverse(tensor=x, dims=[True, False]), A)
    yield _case("ScatterNdNonAliasingAdd", lambda x, u: R.ScatterNdNonAliasingAdd(input=x, indices=[[0], [2]], updates=u), A, B[:2])
    yield _case("TopK", lambda x: R.TopK(input=x, k=2)[0], A)
    yield _case(
        "BatchNormWithGlobalNormalization",
        lambda t, m, v, b, g: R.BatchNormWithGlobalNormalization(
            t=t, m=m, v=v, beta=b, gamma=g, variance_epsilon=0.1, scale_after_normalization=True
        ),
        IMAGE, *[ROW[:3]] * 4,
    )  # fmt: skip
    for name in ("FusedBatchNorm", "FusedBatchNormV2"):
        for training in (True, False):
            yield _case(
                f"{name} training={training}",
                lambda x, s, o, m, v, n=name, t=training: getattr(R, n)(x=x, scale=s, offset=o, mean=m, variance=v, is_training=t)[0],
                IMAGE, *[ROW[:3]] * 3, ROW[:3] + 1,
            )  # fmt: skip


def _sparse() -> Iterator[OpCase]:
    two = {"a_indices": AT, "a_shape": SHAPE, "b_indices": AT, "b_shape": SHAPE}
    yield _case("SparseAdd", lambda v, w: R.SparseAdd(a_values=v, b_values=w, thresh=0.0, **two)[1], TWO, TWO + 1)
    for name in ("SparseSparseMaximum", "SparseSparseMinimum"):
        yield _case(name, lambda v, w, n=name: getattr(R, n)(a_values=v, b_values=w, **two)[1], TWO, TWO[::-1].copy())
    yield _case("SparseDenseCwiseAdd", lambda v, d: R.SparseDenseCwiseAdd(sp_indices=AT, sp_values=v, sp_shape=SHAPE, dense=d), TWO, A)
    yield _case("SparseMatMul", lambda x, y: R.SparseMatMul(a=x, b=y), SQUARE, A)
    segments = np.int32([0, 0, 2])
    for name in ("SparseSegmentSumWithNumSegments", "SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtNWithNumSegments"):
        yield _case(name, lambda x, n=name: getattr(R, n)(data=x, indices=[0, 1, 2], segment_ids=segments, num_segments=4), A)
    yield _case(
        "RaggedFillEmptyRows",
        lambda v, d: R.RaggedFillEmptyRows(value_rowids=np.int64([0, 2]), values=v, nrows=np.int64(3), default_value=d)[1],
        TWO,
        np.float32(0),
    )
    yield _case("RaggedTensorToSparse", lambda v: R.RaggedTensorToSparse(rt_nested_splits=[SPLITS], rt_dense_values=v)[1], TWO)
    yield _case(
        "RaggedTensorToVariant",
        lambda v: R.RaggedTensorFromVariant(
            encoded_ragged=R.RaggedTensorToVariant(rt_nested_splits=[SPLITS], rt_dense_values=v, batched_input=True),
            input_ragged_rank=0, output_ragged_rank=1, Tvalues=tf.float32,
        )[1],
        TWO,
    )  # fmt: skip

    def compressed(x: Any) -> Any:
        return R.DenseToCSRSparseMatrix(dense_input=x, indices=tf.where(tf.ones([3, 3], tf.bool)))

    def dense(m: Any) -> Any:
        return R.CSRSparseMatrixToDense(sparse_input=m, type=tf.float32)

    yield _case("DenseToCSRSparseMatrix", lambda x: dense(compressed(x)), SQUARE)
    yield _case("CSRSparseMatrixToSparseTensor", lambda x: R.CSRSparseMatrixToSparseTensor(sparse_matrix=compressed(x), type=tf.float32)[1], SQUARE)
    yield _case("SparseTensorToCSRSparseMatrix", lambda v: dense(R.SparseTensorToCSRSparseMatrix(indices=AT, values=v, dense_shape=SHAPE)), TWO)
    yield _case(
        "SparseMatrixAdd",
        lambda x, y, a: dense(R.SparseMatrixAdd(a=compressed(x), b=compressed(y), alpha=a, beta=a)), SQUARE, SQUARE + 1, np.float32(2),
    )  # fmt: skip
    yield _case("SparseMatrixMatMul", lambda x, y: R.SparseMatrixMatMul(a=compressed(x), b=y), SQUARE, A)
    yield _case("SparseMatrixMul", lambda x, y: dense(R.SparseMatrixMul(a=compressed(x), b=y)), SQUARE, np.float32(2))
    yield _case("SparseMatrixSoftmax", lambda x: dense(R.SparseMatrixSoftmax(logits=compressed(x), type=tf.float32)), SQUARE)
    yield _case(
        "SparseMatrixSparseMatMul",
        lambda x, y: dense(R.SparseMatrixSparseMatMul(a=compressed(x), b=compressed(y), type=tf.float32)), SQUARE, SQUARE + 1,
    )  # fmt: skip
    yield _case("SparseMatrixTranspose", lambda x: dense(R.SparseMatrixTranspose(input=compressed(x), type=tf.float32)), SQUARE)


def _lists() -> Iterator[OpCase]:
    def listed(x: Any) -> Any:
        return R.TensorListFromTensor(tensor=x, element_shape=[4])

    def stacked(handle: Any) -> Any:
        return R.TensorListStack(input_handle=handle, element_shape=[4], element_dtype=tf.float32)

    item = {"element_shape": [4], "element_dtype": tf.float32}
    yield _case("TensorListFromTensor", lambda x: stacked(listed(x)), A)
    yield _case("TensorListStack", lambda x: stacked(listed(x)), A)
    yield _case("TensorListGetItem", lambda x: R.TensorListGetItem(input_handle=listed(x), index=1, **item), A)
    yield _case("TensorListSetItem", lambda x, r: stacked(R.TensorListSetItem(input_handle=listed(x), index=1, item=r)), A, ROW)
    yield _case("TensorListPushBack", lambda x, r: stacked(R.TensorListPushBack(input_handle=listed(x), tensor=r)), A, ROW)
    yield _case("TensorListPopBack", lambda x: R.TensorListPopBack(input_handle=listed(x), **item)[1], A)
    yield _case("TensorListGather", lambda x: R.TensorListGather(input_handle=listed(x), indices=[2, 0], **item), A)
    yield _case("TensorListScatter", lambda x: stacked(R.TensorListScatter(tensor=x, indices=[2, 0, 1], element_shape=[4])), A)
    yield _case("TensorListScatterV2", lambda x: stacked(R.TensorListScatterV2(tensor=x, indices=[2, 0, 1], element_shape=[4], num_elements=3)), A)
    yield _case(
        "TensorListScatterIntoExistingList",
        lambda x, y: stacked(R.TensorListScatterIntoExistingList(input_handle=listed(x), tensor=y, indices=[1, 0])), A, B[:2],
    )  # fmt: skip
    yield _case(
        "TensorListResize", lambda x: R.TensorListGetItem(input_handle=R.TensorListResize(input_handle=listed(x), size=5), index=1, **item), A
    )
    split = {"element_shape": [-1, 4], "lengths": np.int64([1, 2])}
    yield _case(
        "TensorListConcatV2",
        lambda x: R.TensorListConcatV2(
            input_handle=R.TensorListSplit(tensor=x, **split), element_shape=[-1, 4], leading_dims=np.int64([]), element_dtype=tf.float32
        )[0],
        A,
    )  # fmt: skip
    yield _case(
        "TensorListConcat",
        lambda x: R.TensorListConcat(input_handle=R.TensorListSplit(tensor=x, **split), element_dtype=tf.float32, element_shape=[None, 4])[0], A,
    )  # fmt: skip
    yield _case(
        "TensorListSplit",
        lambda x: R.TensorListGetItem(input_handle=R.TensorListSplit(tensor=x, **split), index=1, element_shape=[-1, 4], element_dtype=tf.float32),
        A,
    )


def _arrays() -> Iterator[OpCase]:
    """TensorFlow 1's arrays behind a handle, which graphs that were saved still hold."""

    def array(**more: Any) -> tuple[Any, Any]:
        return tuple(R.TensorArrayV3(size=3, dtype=tf.float32, dynamic_size=False, clear_after_read=False, **more))

    def scattered(x: Any) -> dict[str, Any]:
        handle, flow = array(element_shape=[4])
        return {"handle": handle, "flow_in": R.TensorArrayScatterV3(handle=handle, indices=[0, 1, 2], value=x, flow_in=flow)}

    def written(x: Any) -> Any:
        handle, flow = array()
        return R.TensorArrayReadV3(handle=handle, index=1, flow_in=R.TensorArrayWriteV3(handle=handle, index=1, value=x, flow_in=flow), dtype=x.dtype)

    def split(x: Any) -> Any:
        handle, flow = array(identical_element_shapes=False)
        pieces = R.TensorArraySplitV3(handle=handle, value=x, lengths=np.int64([1, 0, 2]), flow_in=flow)
        return R.TensorArrayConcatV3(handle=handle, flow_in=pieces, dtype=tf.float32)[0]

    yield _case("TensorArrayWriteV3", written, A)
    yield _case("TensorArrayReadV3", lambda x: R.TensorArrayReadV3(**scattered(x), index=1, dtype=tf.float32), A)
    yield _case("TensorArrayScatterV3", lambda x: R.TensorArrayGatherV3(**scattered(x), indices=[2, 0], dtype=tf.float32), A)
    yield _case("TensorArrayGatherV3", lambda x: R.TensorArrayGatherV3(**scattered(x), indices=[1, 1], dtype=tf.float32), A)
    yield _case("TensorArrayConcatV3", lambda x: split(x), A)
    yield _case("TensorArraySplitV3", lambda x: split(x * x), A)


def _state() -> Iterator[OpCase]:
    """The argument is a variable, and its handle the op's input."""
    yield _case("ReadVariableOp", lambda v: R.ReadVariableOp(resource=v.handle, dtype=tf.float32), A)
    yield _case("ResourceGather", lambda v: R.ResourceGather(resource=v.handle, indices=[0, 2], dtype=tf.float32), A)
    yield _case("ResourceGatherNd", lambda v: R.ResourceGatherNd(resource=v.handle, indices=[[0, 1], [2, 2]], dtype=tf.float32), A)
    yield _case("EagerPyFunc", lambda x: tf.py_function(tf.sin, [x], tf.float32), A)
    for prefix, noise in (("Stateless", lambda: 1.0), ("", lambda: tf.cast(tf.timestamp() > 0.0, tf.float32))):
        yield _case(f"{prefix}If", lambda x, n=noise: tf.cond(tf.reduce_sum(x) > 0, lambda: x * n(), lambda: tf.sin(x)), A)
        cases = [lambda x, n: x * n(), lambda x, n: tf.sin(x)]
        yield _case(
            f"{prefix}Case",
            lambda x, n=noise, c=cases: tf.switch_case(tf.cast(tf.reduce_sum(x) > 0, tf.int32), [lambda f=f: f(x, n) for f in c]),
            A,
        )
        yield _case(f"{prefix}While", lambda x, n=noise: tf.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s * x * n()), (0, x))[1], A)
