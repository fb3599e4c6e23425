"""What to write instead of an op that cuts the gradient, by op type. Each entry is one sentence, without its full stop.

Checked op by op on TensorFlow 2.21; op types that are not listed get the general sentence for their cause in `tapetrace.analysis.remedies`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_POSITION = "`w = tf.nn.relu(1. - tf.abs(x[..., None] - tf.range(n, dtype=x.dtype)))`"
"""Linear interpolation: the weight of each of n places for a float position ``x``."""
_INDEX = "an index has no gradient: weigh all candidates with `w = tf.nn.softmax(k * scores)` and sum them, or keep the hard choice and write"
_SCORE = "use the score function, `log_prob(sample) * tf.stop_gradient(reward)`, in the loss"
_SOFT_COUNT = "counting has no gradient: use soft bins, `tf.reduce_sum(tf.exp(-(((x[:, None] - centres) / width) ** 2)), axis=0)`"
_TEXT = "text carries no gradient: keep the number itself for the loss, and use its text only for printing"
_SOFT_LOGIC = "True and False carry no gradient: use soft values between 0 and 1, `a * b` for and, `a + b - a * b` for or, `1 - a` for not"
_PARTS = "nothing of a shape depends on the values: use the values themselves, or a size that is fixed"
_METRIC = "is a metric and has no gradient: train on a smooth loss, such as `keras.losses.…(y, y_pred)`, and keep it for evaluation"
_DECODER = "decoding has no gradient: train on `tf.nn.ctc_loss` of the logits, and decode only to report"

_OPS: dict[str, str] = {
    "Sign": "`tf.sign` is flat, and TensorFlow returns zeros without a warning: use `tf.tanh(k * x)`, or pass the gradient straight through "
    "with `x + tf.stop_gradient(tf.sign(x) - x)`",
    "FloorDiv": "`//` is flat almost everywhere: divide with `/`, `q = a / b`, and pass the gradient straight through with "
    "`q + tf.stop_gradient(tf.floor(q) - q)`",
    "TruncateDiv": "integer division is flat almost everywhere: divide floats with `/`",
    "ArgMax": f"{_INDEX} `w + tf.stop_gradient(tf.one_hot(tf.argmax(scores, -1), n) - w)`",
    "ArgMin": f"{_INDEX} `w + tf.stop_gradient(tf.one_hot(tf.argmin(scores, -1), n) - w)`, with `k` negative",
    "TopKV2": "the indices of `tf.argsort` and `tf.math.top_k` have no gradient: use the values (`tf.sort`, `top_k(...).values`), or soft ranks, "
    "`tf.reduce_sum(tf.sigmoid(k * (x[:, None] - x[None, :])), axis=1)`",
    "OneHot": "`tf.one_hot` takes integers, which carry no gradient: use `w = tf.nn.softmax(k * scores)` in its place, or "
    "`w + tf.stop_gradient(one_hot - w)` to keep the hard choice",
    "Greater": "a comparison carries no gradient: use `tf.sigmoid(k * (a - b))` for `a > b`",
    "GreaterEqual": "a comparison carries no gradient: use `tf.sigmoid(k * (a - b))` for `a >= b`",
    "Less": "a comparison carries no gradient: use `tf.sigmoid(k * (b - a))` for `a < b`",
    "LessEqual": "a comparison carries no gradient: use `tf.sigmoid(k * (b - a))` for `a <= b`",
    "Equal": "a comparison carries no gradient: use `tf.exp(-k * (a - b) ** 2)` for `a == b`",
    "ApproximateEqual": "a comparison carries no gradient: use `tf.exp(-k * (a - b) ** 2)` for nearly equal",
    "NotEqual": "a comparison carries no gradient: use `1 - tf.exp(-k * (a - b) ** 2)` for `a != b`",
    "Multinomial": "a sampled class has no gradient: use Gumbel-softmax, `tf.nn.softmax((logits - tf.math.log(-tf.math.log(u))) / t)` with "
    f"`u` uniform, or {_SCORE}",
    "RandomUniformInt": "a random integer has no gradient: draw a float with `tf.random.uniform`, and scale it by the tensor that needs gradient",
    "ParameterizedTruncatedNormal": "the sample has no gradient to its parameters: draw with fixed parameters, and write `mean + stddev * noise`",
    "RandomShuffle": "`tf.random.shuffle` has no gradient: shuffle the positions instead, `tf.gather(x, tf.random.shuffle(tf.range(n)))`",
    "AsString": _TEXT,
    "StringFormat": _TEXT,
    "StringToNumber": _TEXT,
    "Histogram": _SOFT_COUNT,
    "Bucketize": "a bucket number has no gradient: use soft membership of each bucket, `tf.nn.softmax(-k * tf.abs(x[:, None] - centres))`",
    "AdjustContrastv2": "TensorFlow has no gradient for `tf.image.adjust_contrast`: write `(x - m) * factor + m` with "
    "`m = tf.reduce_mean(x, axis=[-3, -2], keepdims=True)`, or augment before the weights",
    "AdjustSaturation": "TensorFlow has no gradient for `tf.image.adjust_saturation`: write `g + factor * (x - g)` with "
    "`g = tf.image.rgb_to_grayscale(x)`, which is close to it, or augment before the weights",
    "AdjustHue": "TensorFlow has no gradient for `tf.image.adjust_hue`: augment before the weights, or rotate the colours with a 3 by 3 matrix, "
    "`tf.tensordot(x, rotation, 1)`",
    "HSVToRGB": "TensorFlow has no gradient for `tf.image.hsv_to_rgb`: compute each channel as "
    "`v - v * s * tf.maximum(0., tf.minimum(tf.minimum(k, 4. - k), 1.))` with `k = (n + 6. * h) % 6.` and n = 5, 3, 1 for red, green, blue",
    "ResizeArea": 'TensorFlow has no gradient for `method="area"`: use `tf.image.resize(x, size, method="bilinear", antialias=True)`',
    "NonMaxSuppression": "the choice of boxes has no gradient: compute the loss on the boxes or scores that it selects, `tf.gather(boxes, selected)`",
    "DrawBoundingBoxes": "`tf.image.draw_bounding_boxes` has no gradient: draw for display only, and compute the loss on the boxes",
    "Where": "the positions that `tf.where(condition)` finds have no gradient: use `tf.where(condition, a, b)`, or multiply by a soft mask, "
    "`tf.sigmoid(k * x)`",
    "Unique": "`tf.unique` has no gradient: use the values before it, and its indices only to group them, `tf.math.unsorted_segment_sum`",
    "SearchSorted": "a position has no gradient: interpolate between the neighbours that it finds, `tf.gather(y, i)` and `tf.gather(y, i + 1)`, "
    "with weights computed from the float",
    "Range": "`tf.range` has no gradient to its ends: write `start + step * tf.range(n, dtype=tf.float32)`",
    "LinSpace": "`tf.linspace` has no gradient to its ends here: write `start + (stop - start) * tf.linspace(0., 1., n)`",
    "EditDistance": f"`tf.edit_distance` {_METRIC}",
    "InTopK": f"`tf.math.in_top_k` {_METRIC}",
    "QuantizeV2": "quantised values carry no gradient: use `tf.quantization.fake_quant_with_min_max_vars`, whose gradient passes straight through",
    "Bitcast": "`tf.bitcast` has no gradient: convert the value with `tf.cast` to a float dtype",
    "ZerosLike": "`tf.zeros_like` uses the shape of its input, never its values: put the tensor itself into the loss",
    "OnesLike": "`tf.ones_like` uses the shape of its input, never its values: put the tensor itself into the loss",
}

_SAME_AS: dict[str, str] = {
    "StatelessMultinomial": "Multinomial",
    "StatelessRandomUniformInt": "RandomUniformInt",
    "StatelessRandomUniformIntV2": "RandomUniformInt",
    "StatelessParameterizedTruncatedNormal": "ParameterizedTruncatedNormal",
    "HistogramFixedWidth": "Histogram",
    "Bincount": "Histogram",
    "DenseBincount": "Histogram",
    "RaggedBincount": "Histogram",
    "SparseBincount": "Histogram",
    "UpperBound": "SearchSorted",
    "LowerBound": "SearchSorted",
    "InTopKV2": "InTopK",
    "UniqueV2": "Unique",
    "UniqueWithCounts": "Unique",
    "UniqueWithCountsV2": "Unique",
    "DrawBoundingBoxesV2": "DrawBoundingBoxes",
    "CombinedNonMaxSuppression": "NonMaxSuppression",
    "NonMaxSuppressionV2": "NonMaxSuppression",
    "NonMaxSuppressionV3": "NonMaxSuppression",
    "NonMaxSuppressionV4": "NonMaxSuppression",
    "NonMaxSuppressionV5": "NonMaxSuppression",
}

_ROUND = {"Round": "tf.round", "Rint": "tf.math.rint", "Floor": "tf.floor", "Ceil": "tf.math.ceil"}
_WHOLE = frozenset({*_ROUND, "Cast", "FloorDiv", "TruncateDiv"})

_FAMILIES: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"LogicalAnd", "LogicalOr", "LogicalNot", "Any", "All"}), _SOFT_LOGIC),
    (frozenset({"Shape", "ShapeN", "Size", "Rank"}), _PARTS),
    (frozenset({"CTCGreedyDecoder", "CTCBeamSearchDecoder"}), _DECODER),
    (frozenset({"IsNan", "IsInf", "IsFinite"}), "True and False carry no gradient: use the answer only to choose, `tf.where(answer, a, b)`"),
    (
        frozenset({"RandomPoisson", "RandomPoissonV2", "StatelessRandomPoisson", "StatelessRandomBinomial", "RandomBinomial"}),
        f"a discrete sample has no gradient: {_SCORE}, or use a continuous distribution that can be written as a function of noise",
    ),
    (
        frozenset({"LookupTableFind", "LookupTableFindV2", "StringToHashBucketFast", "StringToHashBucket", "Fingerprint"}),
        "a key that is looked up or hashed has no gradient: look it up outside the path, and learn an embedding of the result",
    ),
)


_COUNT = "counting has no gradient: sum a smooth indicator, `tf.reduce_sum(1. - tf.exp(-k * x ** 2))`"
_FUNCTIONS: dict[str, str] = {
    **{
        name: f"`{name}` {_METRIC}"
        for name in (
            "binary_accuracy", "categorical_accuracy", "sparse_categorical_accuracy", "top_k_categorical_accuracy",
            "sparse_top_k_categorical_accuracy", "confusion_matrix",
        )
    },
    "count_nonzero": _COUNT,
    "count_nonzero_v2": _COUNT,
    "zero_fraction": _COUNT,
    "sequence_mask": "a length has no gradient: use a soft mask, `tf.sigmoid(k * (length[:, None] - tf.range(n, dtype=length.dtype)))`",
    "histogram_fixed_width_bins": _SOFT_COUNT,
}  # fmt: skip


def remedy_for_function(names: Iterable[str]) -> str | None:
    """What to write instead of a whole function of TensorFlow or Keras that cuts the gradient; ``names`` are those on the way to its op."""
    return next((_FUNCTIONS[name] for name in names if name in _FUNCTIONS), None)


_ROWS = f"weigh all rows, `tf.tensordot(w, table, 1)`, with `w = tf.nn.softmax(k * scores)` or, for a float position `x`, {_POSITION}"
_CORNERS = f"interpolate with one weight a coordinate, `tf.einsum('...i,...j,ij->...', w0, w1, table)`, each {_POSITION} of a float coordinate `x`"
_SOFT_INDICES: dict[str, str] = {
    "Gather": _ROWS,
    "GatherV2": _ROWS,
    "ResourceGather": _ROWS,
    "GatherNd": _CORNERS,
    "ResourceGatherNd": _CORNERS,
    "OneHot": "use `w = tf.nn.softmax(k * scores)` in its place, or `w + tf.stop_gradient(one_hot - w)` to keep the hard choice; for a float "
    f"position `x`, {_POSITION}",
}


def soft_index(op_type: str, name: str) -> str:
    """What to write where input ``name`` of ``op_type`` takes nothing but integers."""
    if name == "segment_ids":
        return f"let each row belong to the segments in part, `tf.tensordot(w, rows, [[0], [0]])`, with a float id `x` and {_POSITION}"
    if name == "indices" and op_type in _SOFT_INDICES:
        return _SOFT_INDICES[op_type]
    return f"take a number that is fixed, or weigh all candidates, with `tf.nn.softmax(k * scores)` or, for a float position `x`, {_POSITION}"


def makes_whole(op_type: str) -> bool:
    """Whether ``op_type`` makes whole numbers of floats."""
    return op_type in _WHOLE


def remedy_for_rounding(op_types: Sequence[str]) -> str:
    """What to do about these ops of one line; empty when they do anything but round.

    >>> remedy_for_rounding(["Floor", "Round"]).partition(":")[0]
    '`tf.floor` and `tf.round` are flat almost everywhere'
    """
    names = [_ROUND.get(t, "") for t in op_types]
    if not names or not all(names):
        return ""
    if len(names) == 1:
        return f"`{names[0]}` is flat almost everywhere: pass the gradient straight through with `x + tf.stop_gradient({names[0]}(x) - x)`"
    listed = f"{', '.join(f'`{n}`' for n in names[:-1])} and `{names[-1]}`"
    return f"{listed} are flat almost everywhere: pass the gradient straight through each, `x + tf.stop_gradient({names[0]}(x) - x)` for the first"


def remedy_for_op(op_type: str, dtype: str = "") -> str:
    """What to write instead of ``op_type``; empty if nothing special is known. ``dtype`` is the dtype of the value behind the op."""
    if op_type == "Cast":
        return _remedy_for_cast(dtype)
    if op_type in _ROUND:
        return remedy_for_rounding([op_type])
    special = _OPS.get(_SAME_AS.get(op_type, op_type))
    if special:
        return special
    return next((sentence for types, sentence in _FAMILIES if op_type in types), "")


def _remedy_for_cast(dtype: str) -> str:
    if dtype == "bool":
        return "`tf.cast` to bool carries no gradient: use a soft answer between 0 and 1, `tf.sigmoid(k * x)`"
    to = f"to {dtype}" if dtype else "to an integer"
    return (
        f"`tf.cast` {to} cuts the gradient: keep the value float here, with `tf.sigmoid(k * (x - threshold))` for a decision or "
        "`x + tf.stop_gradient(tf.round(x) - x)` for a whole number"
    )
