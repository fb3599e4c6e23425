"""Raw ops of many kinds, each with arguments that TensorFlow can run it on: what the gates are held against."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

R = tf.raw_ops


@dataclass(frozen=True)
class OpCase:
    """``build(*tensors)`` makes one op of interest from ``arguments`` and returns any of its outputs."""

    name: str
    build: Callable[..., Any]
    arguments: tuple[Any, ...]


def _random(*shape: int, low: float = 0.1, high: float = 0.9) -> Any:
    return np.random.default_rng(sum(shape) + len(shape)).uniform(low, high, shape).astype(np.float32)


def _ints(*values: Any) -> Any:
    return np.array(values, np.int32)


A = _random(3, 4)
B = _random(4, 3).T.copy()
ROW = _random(4)
SQUARE = _random(3, 3) + 3 * np.eye(3, dtype=np.float32)
SYMMETRIC = SQUARE @ SQUARE.T
IMAGE = _random(2, 6, 6, 3)
VOLUME = _random(1, 4, 4, 4, 2)
COMPLEX = (_random(4, 4) + 1j * _random(4, 5)[:, :4]).astype(np.complex64)

UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Digamma Erf Erfc Erfinv Exp Expm1 Floor Inv Lgamma Log Log1p Ndtri Neg OnesLike "
    "Reciprocal Rint Round Rsqrt Sigmoid Sign Sin Sinh Sqrt Square Tan Tanh ZerosLike BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselK0 "
    "BesselY0 Dawsn Expint FresnelCos FresnelSin Spence"
).split()
ACTIVATIONS = "Elu Relu Relu6 LeakyRelu Selu Softplus Softsign".split()
BINARY = (
    "Add AddV2 Atan2 Div DivNoNan Equal FloorDiv FloorMod Greater Igamma Igammac IgammaGradA LessEqual Maximum Minimum Mod Mul MulNoNan NextAfter "
    "NotEqual Polygamma Pow RealDiv SquaredDifference Sub TruncateDiv TruncateMod Xdivy Xlog1py Xlogy Zeta"
).split()
REDUCTIONS = "Sum Mean Prod Max Min EuclideanNorm".split()


def op_cases() -> Iterator[OpCase]:
    for name in UNARY:
        yield OpCase(name, lambda x, n=name: getattr(R, n)(x=x), (A + 1 if name == "Acosh" else A,))
    for name in ACTIVATIONS:
        yield OpCase(name, lambda x, n=name: getattr(R, n)(features=x), (A - 0.5,))
    for name in BINARY:
        arguments = {"x": ("x", "y"), "a": ("a", "x"), "x1": ("x1", "x2"), "q": ("x", "q")}[_first_argument(name)]
        left = A + 1.5 if name in ("Zeta",) else np.round(A * 3) if name == "Polygamma" else A
        yield OpCase(name, lambda x, y, n=name, k=arguments: getattr(R, n)(**{k[0]: x, k[1]: y}), (left, B))
    for name in REDUCTIONS:
        yield OpCase(name, lambda x, n=name: getattr(R, n)(input=x, axis=[1]), (A,))
        yield OpCase(f"{name} unknown axis", lambda x, a, n=name: getattr(R, n)(input=x, axis=a), (A, _ints(0)))
    yield OpCase("AddV2 broadcast", lambda x, y: R.AddV2(x=x, y=y), (A, ROW))
    yield OpCase("Mul broadcast", lambda x, y: R.Mul(x=x, y=y), (A, ROW))
    yield OpCase("Mul complex", lambda x, y: R.Mul(x=x, y=y), (COMPLEX, COMPLEX))
    yield OpCase("Pow float32", lambda x, y: R.Pow(x=x, y=y), (A, B))
    yield OpCase("Betainc", lambda a, b, x: R.Betainc(a=a, b=b, x=x), (A, B, A))
    for name in ("ArgMax", "ArgMin"):
        yield OpCase(name, lambda x, n=name: getattr(R, n)(input=x, dimension=1), (A,))
    for name in ("All", "Any"):
        yield OpCase(name, lambda x, n=name: getattr(R, n)(input=x, axis=[0]), (A > 0.5,))
    yield from _shaping()
    yield from _selecting()
    yield from _neural()
    yield from _linear_algebra()
    yield from _sparse_and_segments()


def _first_argument(name: str) -> str:
    if name in ("Igamma", "Igammac", "IgammaGradA", "Polygamma"):
        return "a"
    return {"NextAfter": "x1", "Zeta": "q"}.get(name, "x")


def _shaping() -> Iterator[OpCase]:
    yield OpCase("Identity", lambda x: R.Identity(input=x), (A,))
    yield OpCase("IdentityN", lambda x, y: R.IdentityN(input=[x, y])[0], (A, ROW))
    yield OpCase("StopGradient", lambda x: R.StopGradient(input=x), (A,))
    yield OpCase("Snapshot", lambda x: R.Snapshot(input=x), (A,))
    yield OpCase("CheckNumerics", lambda x: R.CheckNumerics(tensor=x, message="m"), (A,))
    yield OpCase("EnsureShape", lambda x: R.EnsureShape(input=x, shape=[3, 4]), (A,))
    yield OpCase("PlaceholderWithDefault", lambda x: R.PlaceholderWithDefault(input=x, shape=[3, 4]), (A,))
    yield OpCase("Shape", lambda x: R.Shape(input=x), (A,))
    yield OpCase("Size", lambda x: R.Size(input=x), (A,))
    yield OpCase("Rank", lambda x: R.Rank(input=x), (A,))
    yield OpCase("Reshape", lambda x: R.Reshape(tensor=x, shape=[4, 3]), (A,))
    yield OpCase("Reshape unknown", lambda x, s: R.Reshape(tensor=x, shape=s), (A, _ints(4, 3)))
    yield OpCase("ExpandDims", lambda x: R.ExpandDims(input=x, axis=1), (A,))
    yield OpCase("Squeeze", lambda x: R.Squeeze(input=x, axis=[0]), (A[None],))
    yield OpCase("Transpose", lambda x: R.Transpose(x=x, perm=[1, 0]), (A,))
    yield OpCase("ConjugateTranspose", lambda x: R.ConjugateTranspose(x=x, perm=[1, 0]), (COMPLEX,))
    yield OpCase("Tile", lambda x: R.Tile(input=x, multiples=[2, 1]), (A,))
    yield OpCase("BroadcastTo", lambda x: R.BroadcastTo(input=x, shape=[3, 4]), (ROW,))
    yield OpCase("Fill", lambda x: R.Fill(dims=[3, 4], value=x), (np.float32(2),))
    yield OpCase("Slice", lambda x: R.Slice(input=x, begin=[0, 1], size=[2, 2]), (A,))
    yield OpCase("StridedSlice", lambda x: x[1:, ::2], (A,))
    yield OpCase("TensorStridedSliceUpdate", lambda x, v: R.TensorStridedSliceUpdate(input=x, begin=[0], end=[1], strides=[1], value=v), (A, A[:1]))
    yield OpCase("Pad", lambda x: R.Pad(input=x, paddings=[[1, 1], [0, 2]]), (A,))
    yield OpCase("PadV2", lambda x, c: R.PadV2(input=x, paddings=[[1, 1], [0, 2]], constant_values=c), (A, np.float32(2)))
    yield OpCase("MirrorPad", lambda x: R.MirrorPad(input=x, paddings=[[1, 1], [0, 2]], mode="REFLECT"), (A,))
    yield OpCase("ConcatV2", lambda x, y: R.ConcatV2(values=[x, y], axis=0), (A, B))
    yield OpCase("Pack", lambda x, y: R.Pack(values=[x, y], axis=1), (A, B))
    yield OpCase("Unpack", lambda x: R.Unpack(value=x, num=3)[0], (A,))
    yield OpCase("Split", lambda x: R.Split(axis=1, value=x, num_split=2)[0], (A,))
    yield OpCase("SplitV", lambda x: R.SplitV(value=x, size_splits=[1, 3], axis=1, num_split=2)[1], (A,))
    yield OpCase("AddN", lambda x, y: R.AddN(inputs=[x, y]), (A, B))
    yield OpCase("ReverseV2", lambda x: R.ReverseV2(tensor=x, axis=[1]), (A,))
    yield OpCase("ReverseSequence", lambda x: R.ReverseSequence(input=x, seq_lengths=[1, 2, 3], seq_dim=1), (A,))
    yield OpCase("Roll", lambda x: R.Roll(input=x, shift=[1], axis=[1]), (A,))
    yield OpCase("Cumsum", lambda x: R.Cumsum(x=x, axis=1), (A,))
    yield OpCase("Cumprod", lambda x: R.Cumprod(x=x, axis=1), (A,))
    yield OpCase("CumulativeLogsumexp", lambda x: R.CumulativeLogsumexp(x=x, axis=1), (A,))
    yield OpCase("SpaceToDepth", lambda x: R.SpaceToDepth(input=x, block_size=2), (IMAGE,))
    yield OpCase("DepthToSpace", lambda x: R.DepthToSpace(input=x, block_size=2), (_random(1, 2, 2, 4),))
    yield OpCase("SpaceToBatchND", lambda x: R.SpaceToBatchND(input=x, block_shape=[2, 2], paddings=[[0, 0], [0, 0]]), (IMAGE,))
    yield OpCase("BatchToSpaceND", lambda x: R.BatchToSpaceND(input=x, block_shape=[2, 2], crops=[[0, 0], [0, 0]]), (_random(4, 2, 2, 1),))
    yield OpCase("Cast to float64", lambda x: R.Cast(x=x, DstT=tf.float64), (A,))
    yield OpCase("Cast to bfloat16", lambda x: R.Cast(x=x, DstT=tf.bfloat16), (A,))
    yield OpCase("Cast to complex64", lambda x: R.Cast(x=x, DstT=tf.complex64), (A,))
    yield OpCase("Cast to int32", lambda x: R.Cast(x=x, DstT=tf.int32), (A,))
    yield OpCase("Cast to bool", lambda x: R.Cast(x=x, DstT=tf.bool), (A,))
    yield OpCase("Cast from int32", lambda x: R.Cast(x=x, DstT=tf.float32), (_ints(1, 2),))
    yield OpCase("Bitcast", lambda x: R.Bitcast(input=x, type=tf.int32), (A,))
    yield OpCase("AsString", lambda x: R.AsString(input=x), (A,))
    yield OpCase("Real", lambda x: R.Real(input=x), (COMPLEX,))
    yield OpCase("Imag", lambda x: R.Imag(input=x), (COMPLEX,))
    yield OpCase("Conj", lambda x: R.Conj(input=x), (COMPLEX,))
    yield OpCase("Angle", lambda x: R.Angle(input=x), (COMPLEX,))
    yield OpCase("ComplexAbs", lambda x: R.ComplexAbs(x=x), (COMPLEX,))
    yield OpCase("Complex", lambda x, y: R.Complex(real=x, imag=y), (A, B))


def _selecting() -> Iterator[OpCase]:
    rows = _ints(0, 2)
    yield OpCase("GatherV2", lambda x, i: R.GatherV2(params=x, indices=i, axis=0), (A, rows))
    yield OpCase("GatherV2 axis 1", lambda x, i: R.GatherV2(params=x, indices=i, axis=1), (A, rows))
    yield OpCase("GatherV2 batch", lambda x, i: R.GatherV2(params=x, indices=i, axis=1, batch_dims=1), (A, _ints([0], [1], [2])))
    yield OpCase("GatherNd", lambda x, i: R.GatherNd(params=x, indices=i), (A, _ints([0, 1], [2, 2])))
    yield OpCase("ScatterNd", lambda i, u: R.ScatterNd(indices=i, updates=u, shape=[5, 4]), (_ints([0], [2], [3]), A))
    for name in "TensorScatterUpdate TensorScatterAdd TensorScatterSub TensorScatterMax TensorScatterMin".split():
        yield OpCase(name, lambda x, i, u, n=name: getattr(R, n)(tensor=x, indices=i, updates=u), (A, _ints([0], [2]), B[:2]))
    yield OpCase("SelectV2", lambda c, x, y: R.SelectV2(condition=c, t=x, e=y), (A > 0.5, A, B))
    yield OpCase("Select", lambda c, x, y: R.Select(condition=c, x=x, y=y), (A > 0.5, A, B))
    yield OpCase("Where", lambda x: R.Where(condition=x), (A,))
    yield OpCase("ClipByValue", lambda x, a, b: R.ClipByValue(t=x, clip_value_min=a, clip_value_max=b), (A, np.float32(0.3), np.float32(0.6)))
    yield OpCase("TopKV2", lambda x: R.TopKV2(input=x, k=2)[0], (A,))
    yield OpCase("NthElement", lambda x: R.NthElement(input=x, n=1), (A,))
    yield OpCase("OneHot", lambda i, on, off: R.OneHot(indices=i, depth=4, on_value=on, off_value=off), (rows, np.float32(1), np.float32(0)))
    yield OpCase("Unique", lambda x: R.Unique(x=x)[0], (ROW,))
    yield OpCase("Bucketize", lambda x: R.Bucketize(input=x, boundaries=[0.5]), (A,))
    yield OpCase("HistogramFixedWidth", lambda x: R.HistogramFixedWidth(values=x, value_range=[0.0, 1.0], nbins=4), (A,))
    yield OpCase("InvertPermutation", lambda x: R.InvertPermutation(x=x), (_ints(1, 0),))
    yield OpCase("LinSpace", lambda a, b: R.LinSpace(start=a, stop=b, num=4), (np.float32(0), np.float32(1)))
    yield OpCase("Range", lambda a, b: R.Range(start=a, limit=b, delta=1.0), (np.float32(0), np.float32(3)))
    yield OpCase("Multinomial", lambda x: R.Multinomial(logits=x, num_samples=2), (A,))
    yield OpCase("StatelessMultinomial", lambda x: R.StatelessMultinomial(logits=x, num_samples=2, seed=[1, 2]), (A,))
    yield OpCase("RandomGamma", lambda a: R.RandomGamma(shape=[2], alpha=a, seed=1, seed2=2), (ROW + 1,))
    yield OpCase("RandomShuffle", lambda x: R.RandomShuffle(value=x), (A,))
    yield OpCase("MatrixBandPart", lambda x: R.MatrixBandPart(input=x, num_lower=0, num_upper=-1), (SQUARE,))
    yield OpCase("MatrixDiagPartV3", lambda x: R.MatrixDiagPartV3(input=x, k=0, padding_value=0.0), (SQUARE,))
    yield OpCase("MatrixDiagV3", lambda x: R.MatrixDiagV3(diagonal=x, k=0, num_rows=-1, num_cols=-1, padding_value=0.0), (ROW,))
    yield OpCase("MatrixSetDiagV3", lambda x, d: R.MatrixSetDiagV3(input=x, diagonal=d, k=0), (SQUARE, ROW[:3]))
    yield OpCase("Diag", lambda x: R.Diag(diagonal=x), (ROW,))
    yield OpCase("DiagPart", lambda x: R.DiagPart(input=x), (SQUARE,))
    yield OpCase("DynamicPartition", lambda x, p: R.DynamicPartition(data=x, partitions=p, num_partitions=2)[0], (A, _ints(0, 1, 0)))
    yield OpCase("DynamicStitch", lambda x, y: R.DynamicStitch(indices=[[0, 1, 2], [3, 4, 5]], data=[x, y]), (A, B))
    yield OpCase("FakeQuantWithMinMaxArgs", lambda x: R.FakeQuantWithMinMaxArgs(inputs=x), (A,))
    yield OpCase("FakeQuantWithMinMaxVars", lambda x, a, b: R.FakeQuantWithMinMaxVars(inputs=x, min=a, max=b), (A, np.float32(0.3), np.float32(0.6)))
    yield OpCase("QuantizeAndDequantizeV4", lambda x: R.QuantizeAndDequantizeV4(input=x, input_min=0.0, input_max=1.0), (A,))


def _neural() -> Iterator[OpCase]:
    kernel, strides = _random(3, 3, 3, 2), [1, 1, 1, 1]
    yield OpCase("MatMul", lambda x, y: R.MatMul(a=x, b=y, transpose_b=True), (A, B))
    yield OpCase("BatchMatMulV2", lambda x, y: R.BatchMatMulV2(x=x, y=y, adj_y=True), (A[None], B[None]))
    yield OpCase("Einsum", lambda x, y: R.Einsum(inputs=[x, y], equation="ij,kj->ik"), (A, B))
    yield OpCase("BiasAdd", lambda x, b: R.BiasAdd(value=x, bias=b), (A, ROW))
    yield OpCase("Softmax", lambda x: R.Softmax(logits=x), (A,))
    yield OpCase("LogSoftmax", lambda x: R.LogSoftmax(logits=x), (A,))
    yield OpCase("L2Loss", lambda x: R.L2Loss(t=x), (A,))
    yield OpCase("LRN", lambda x: R.LRN(input=x), (IMAGE,))
    yield OpCase("Conv2D", lambda x, k: R.Conv2D(input=x, filter=k, strides=strides, padding="SAME"), (IMAGE, kernel))
    yield OpCase("Conv3D", lambda x, k: R.Conv3D(input=x, filter=k, strides=[1] * 5, padding="SAME"), (VOLUME, _random(2, 2, 2, 2, 3)))
    yield OpCase("DepthwiseConv2dNative", lambda x, k: R.DepthwiseConv2dNative(input=x, filter=k, strides=strides, padding="SAME"), (IMAGE, kernel))
    yield OpCase(
        "Conv2DBackpropInput",
        lambda k, dy: R.Conv2DBackpropInput(input_sizes=[2, 6, 6, 3], filter=k, out_backprop=dy, strides=strides, padding="SAME"),
        (kernel, _random(2, 6, 6, 2)),
    )
    yield OpCase("Dilation2D", lambda x, k: R.Dilation2D(input=x, filter=k, strides=strides, rates=strides, padding="SAME"), (IMAGE, kernel[..., 0]))
    for name in ("AvgPool", "MaxPool"):
        key = "value" if name == "AvgPool" else "input"
        yield OpCase(name, lambda x, n=name, k=key: getattr(R, n)(**{k: x}, ksize=[1, 2, 2, 1], strides=strides, padding="VALID"), (IMAGE,))
        yield OpCase(f"{name}3D", lambda x, n=name: getattr(R, f"{n}3D")(input=x, ksize=[1, 2, 2, 2, 1], strides=[1] * 5, padding="SAME"), (VOLUME,))
    yield OpCase("MaxPoolV2", lambda x: R.MaxPoolV2(input=x, ksize=[1, 2, 2, 1], strides=strides, padding="VALID"), (IMAGE,))
    yield OpCase("MaxPoolWithArgmax", lambda x: R.MaxPoolWithArgmax(input=x, ksize=[1, 2, 2, 1], strides=strides, padding="SAME")[0], (IMAGE,))
    yield OpCase("FractionalMaxPool", lambda x: R.FractionalMaxPool(value=x, pooling_ratio=[1.0, 1.5, 1.5, 1.0])[0], (IMAGE,))
    per_channel = (_random(3), _random(3) * 2, _random(3), _random(3) + 1)
    for training in (True, False):
        yield OpCase(
            f"FusedBatchNormV3 training={training}",
            lambda x, s, o, m, v, t=training: R.FusedBatchNormV3(x=x, scale=s, offset=o, mean=m, variance=v, is_training=t)[0],
            (IMAGE, *per_channel),
        )
    yield OpCase("SoftmaxCrossEntropyWithLogits", lambda x, y: R.SoftmaxCrossEntropyWithLogits(features=x, labels=y)[0], (A, B))
    yield OpCase(
        "SparseSoftmaxCrossEntropyWithLogits", lambda x, y: R.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=y)[0], (A, _ints(1, 2, 3))
    )
    yield OpCase(
        "CTCLoss",
        lambda x: R.CTCLoss(inputs=x, labels_indices=[[0, 0], [0, 1]], labels_values=[0, 1], sequence_length=[5])[0],
        (_random(5, 1, 4),),
    )
    for name in ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"):
        yield OpCase(name, lambda x, n=name: getattr(R, n)(images=x, size=[4, 8]), (IMAGE,))
    yield OpCase(
        "CropAndResize",
        lambda x, b: R.CropAndResize(image=x, boxes=b, box_ind=[0], crop_size=[3, 3]),
        (IMAGE, np.array([[0.1, 0.1, 0.7, 0.8]], np.float32)),
    )
    yield OpCase("ScaleAndTranslate", lambda x: R.ScaleAndTranslate(images=x, size=[4, 8], scale=[1.0, 1.0], translation=[0.0, 0.0]), (IMAGE,))
    yield OpCase(
        "ExtractImagePatches",
        lambda x: R.ExtractImagePatches(images=x, ksizes=[1, 2, 2, 1], strides=strides, rates=strides, padding="SAME"),
        (IMAGE,),
    )
    yield OpCase("RGBToHSV", lambda x: R.RGBToHSV(images=x), (IMAGE,))
    yield OpCase("HSVToRGB", lambda x: R.HSVToRGB(images=x), (IMAGE,))
    yield OpCase("AdjustContrastv2", lambda x, c: R.AdjustContrastv2(images=x, contrast_factor=c), (IMAGE, np.float32(2)))
    yield OpCase("AdjustHue", lambda x, c: R.AdjustHue(images=x, delta=c), (IMAGE, np.float32(0.1)))
    yield OpCase(
        "NonMaxSuppressionV3",
        lambda b, s: R.NonMaxSuppressionV3(boxes=b, scores=s, max_output_size=2, iou_threshold=0.5, score_threshold=0.1),
        (A, ROW[:3]),
    )


def _linear_algebra() -> Iterator[OpCase]:
    rhs = _random(3, 2)
    for name in ("Cholesky", "MatrixInverse", "MatrixDeterminant", "MatrixSquareRoot"):
        yield OpCase(name, lambda x, n=name: getattr(R, n)(input=x), (SYMMETRIC,))
    yield OpCase("LogMatrixDeterminant", lambda x: R.LogMatrixDeterminant(input=x)[1], (SYMMETRIC,))
    yield OpCase("MatrixSolve", lambda x, y: R.MatrixSolve(matrix=x, rhs=y), (SQUARE, rhs))
    yield OpCase("MatrixTriangularSolve", lambda x, y: R.MatrixTriangularSolve(matrix=x, rhs=y), (SQUARE, rhs))
    yield OpCase("MatrixSolveLs", lambda x, y: R.MatrixSolveLs(matrix=x, rhs=y, l2_regularizer=np.float64(0.1)), (SQUARE, rhs))
    yield OpCase("Svd", lambda x: R.Svd(input=x)[0], (SQUARE,))
    yield OpCase("Svd values only", lambda x: R.Svd(input=x, compute_uv=False)[0], (SQUARE,))
    yield OpCase("Qr", lambda x: R.Qr(input=x)[0], (SQUARE,))
    yield OpCase("Qr tall, full", lambda x: R.Qr(input=x, full_matrices=True)[0], (A.T.copy(),))
    yield OpCase("Qr wide", lambda x: R.Qr(input=x)[0], (A,))
    yield OpCase("SelfAdjointEigV2", lambda x: R.SelfAdjointEigV2(input=x)[0], (SYMMETRIC,))
    yield OpCase("Eig", lambda x: R.Eig(input=x, Tout=tf.complex64)[0], (SYMMETRIC,))
    yield OpCase("Lu", lambda x: R.Lu(input=x)[0], (SQUARE,))
    yield OpCase("MatrixLogarithm", lambda x: R.MatrixLogarithm(input=x), (COMPLEX,))
    yield OpCase("Cross", lambda x, y: R.Cross(a=x, b=y), (SQUARE, SYMMETRIC))
    yield OpCase(
        "TridiagonalSolve",
        lambda d, y: R.TridiagonalSolve(diagonals=d, rhs=y),
        (_random(3, 4) + np.array([[0], [3], [0]], np.float32), _random(4, 2)),
    )
    for name in ("FFT", "IFFT", "FFT2D", "IFFT2D"):
        yield OpCase(name, lambda x, n=name: getattr(R, n)(input=x), (COMPLEX,))
    yield OpCase("RFFT", lambda x: R.RFFT(input=x, fft_length=[4]), (A,))
    yield OpCase("IRFFT", lambda x: R.IRFFT(input=x, fft_length=[6]), (COMPLEX,))
    yield OpCase("RFFT2D", lambda x: R.RFFT2D(input=x, fft_length=[3, 4]), (A,))


def _sparse_and_segments() -> Iterator[OpCase]:
    segments = _ints(0, 0, 1)
    for name in ("SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin", "SegmentProd"):
        yield OpCase(name, lambda x, s, n=name: getattr(R, n)(data=x, segment_ids=s), (A, segments))
    for name in ("UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd"):
        yield OpCase(name, lambda x, s, n=name: getattr(R, n)(data=x, segment_ids=s, num_segments=2), (A, segments))
    for name in ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"):
        yield OpCase(name, lambda x, s, n=name: getattr(R, n)(data=x, indices=[0, 1, 2], segment_ids=s), (A, segments))
    at = np.array([[0, 1], [2, 2]], np.int64)
    two = ROW[:2]
    yield OpCase(
        "SparseTensorDenseMatMul", lambda v, d: R.SparseTensorDenseMatMul(a_indices=at, a_values=v, a_shape=[3, 4], b=d), (two, _random(4, 2))
    )
    yield OpCase(
        "SparseToDense", lambda v, d: R.SparseToDense(sparse_indices=at, output_shape=[3, 4], sparse_values=v, default_value=d), (two, np.float32(0))
    )
    yield OpCase("SparseReorder", lambda v: R.SparseReorder(input_indices=at, input_values=v, input_shape=[3, 4])[1], (two,))
    yield OpCase("SparseReduceSum", lambda v: R.SparseReduceSum(input_indices=at, input_values=v, input_shape=[3, 4], reduction_axes=[1]), (two,))
    yield OpCase("SparseSoftmax", lambda v: R.SparseSoftmax(sp_indices=[[0, 1], [0, 2]], sp_values=v, sp_shape=[3, 4]), (two,))
    yield OpCase("SparseTensorDenseAdd", lambda v, d: R.SparseTensorDenseAdd(a_indices=at, a_values=v, a_shape=np.array([3, 4]), b=d), (two, A))
    yield OpCase("SparseDenseCwiseMul", lambda v, d: R.SparseDenseCwiseMul(sp_indices=at, sp_values=v, sp_shape=[3, 4], dense=d), (two, A))
    yield OpCase("SparseDenseCwiseDiv", lambda v, d: R.SparseDenseCwiseDiv(sp_indices=at, sp_values=v, sp_shape=[3, 4], dense=d), (two, A))
    yield OpCase(
        "SparseFillEmptyRows", lambda v, d: R.SparseFillEmptyRows(indices=at, values=v, dense_shape=[3, 4], default_value=d)[1], (two, np.float32(0))
    )
    yield OpCase("SparseSlice", lambda v: R.SparseSlice(indices=at, values=v, shape=[3, 4], start=[0, 0], size=[2, 3])[1], (two,))
    yield OpCase(
        "RaggedGather",
        lambda v: R.RaggedGather(params_nested_splits=[np.array([0, 1, 2], np.int64)], params_dense_values=v, indices=[1], OUTPUT_RAGGED_RANK=1)[1],
        (two,),
    )
    yield OpCase(
        "RaggedTensorToTensor",
        lambda v, d: R.RaggedTensorToTensor(
            shape=[2, 2], values=v, default_value=d, row_partition_tensors=[np.array([0, 1, 2], np.int64)], row_partition_types=["ROW_SPLITS"]
        ),
        (two, np.float32(0)),
    )
