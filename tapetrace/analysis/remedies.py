"""What to do about a break, here, in one sentence: the catalogue of remedies.

A remedy speaks of the line that is shown above it, in the words of the public TensorFlow API, and has no full stop, so that it can stand in a
report, an annotation or a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from tapetrace.analysis.op_remedies import makes_whole, remedy_for_function, remedy_for_op, soft_index
from tapetrace.analysis.vanishing import Lost
from tapetrace.model.locations import Frame, Location
from tapetrace.model.words import Cause


@dataclass(frozen=True, slots=True)
class Index:
    """An input that takes integers only: its op's type, its name, and the line where it stands, None if that is the line of the break."""

    op_type: str
    name: str
    frame: Frame | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known about a break when a remedy is asked for. Only ``cause`` is needed; what is not known stays at its default.

    ``op_type`` is the op that closes the gate and ``dtype`` the dtype name of its output (for ``non_float_source``: of the variable).
    ``tape_opened`` is the ``with`` line of the tape. ``tape_closed_after`` says, for ``outside_tape``, on which side of the tape the line runs:
    True after it was closed, False before it was opened, None when neither is known. ``tape_was_reset`` is True when ``tape.reset()``
    was called: a line that does not run after the tape was then thrown away by it. ``variable`` names the source when the break concerns
    one source alone, ``kind`` is ``variable`` or ``tensor``, ``trainable`` and ``layer`` (path of the Keras layer that owns it) describe it.
    ``branch`` names the branch that connects the source (``true``, ``false``, or the number of a case), ``condition`` is the op type of what
    decides. ``source_line`` is the code of the line, when ``location`` does not hold it. ``inner_call``, for ``outside_tape``, is another gradient
    call whose result the target was computed from, and which ran outside the tape as well. ``raises``, for ``not_probed``: the gradient function
    raised in the user's own gradient call. ``is_keras``: the source is a Keras 3 variable. ``watches_variables`` is False when the tape was opened
    with ``watch_accessed_variables=False``. ``index`` is where the value is handed in, here or further on, that can be nothing but an integer.
    ``is_straight_through``: what is stopped is the difference to the tensor that it is added to. ``lost``, for ``numerically_zero``, is how.
    """

    cause: Cause
    op_type: str = ""
    location: Location | None = None
    tape_opened: Frame | None = None
    tape_closed_after: bool | None = None
    tape_was_reset: bool = False
    variable: str = ""
    kind: str = "variable"
    trainable: bool = True
    layer: str = ""
    branch: str = ""
    condition: str = ""
    dtype: str = ""
    source_line: str = ""
    inner_call: Frame | None = None
    raises: bool = False
    is_keras: bool = False
    watches_variables: bool = True
    index: Index | None = None
    is_straight_through: bool = False
    lost: Lost = Lost.VANISHES

    @property
    def code(self) -> str:
        """The code of the line, empty if unknown."""
        return self.source_line or (self.location.code if self.location else "")


def remedy_for(situation: Situation) -> str:
    """One sentence that says what to do in this situation.

    >>> remedy_for(Situation(Cause.STOP_GRADIENT))
    'remove the `tf.stop_gradient` here, or leave what it freezes out of the sources if it is meant'
    """
    inside = situation.location.inside if situation.location else ()
    if situation.cause in _OF_OPS and (said := remedy_for_function(inside)):
        return said
    if situation.index is not None and (situation.op_type == situation.index.op_type or makes_whole(situation.op_type)):
        return _index(situation, situation.index)
    return _BY_CAUSE[situation.cause](situation)


def _the_variable(s: Situation) -> str:
    return f"`{s.variable}`" if s.variable else f"the {s.kind}"


def _with_line(s: Situation, arguments: str = "") -> str:
    """The ``with`` line in words, with its number where it is known, and its file where that is another one."""
    if s.tape_opened is None:
        return f"`with tf.GradientTape({arguments})`"
    return f"`with tf.GradientTape({arguments})` on {_line(s, s.tape_opened)}"


def _line(s: Situation, frame: Frame) -> str:
    """The number of a line, and its file where that is another one."""
    elsewhere = s.location is not None and s.location.file != frame.file
    return f"line {frame.line}{f' of {PurePath(frame.file).name}' if elsewhere else ''}"


def _stop_gradient(s: Situation) -> str:
    if s.op_type == "PreventGradient":
        return "TensorFlow forbids the gradient here: differentiate this value once only, or compute it by other ops"
    if s.is_straight_through:
        return (
            "this hands the gradient straight through to the tensor that it is added to, so keep it, and train what it stops by a term of its own, "
            "such as `tf.reduce_mean((q - tf.stop_gradient(z)) ** 2)`"
        )
    here = "`tf.stop_gradient` here" if not s.code or "stop_gradient" in s.code else "`tf.stop_gradient` that this line leads to"
    return f"remove the {here}, or leave what it freezes out of the sources if it is meant"


def _python_function(s: Situation) -> str:
    if s.op_type == "EagerPyFunc" or re.search(r"(?<!num)py_function", s.code):
        return (
            "`tf.py_function` passes gradient through TensorFlow ops only: write what is NumPy inside it with `tf.` functions, or give it a "
            "gradient with `tf.custom_gradient`"
        )
    return "the tape cannot see into `tf.numpy_function`: write it with `tf.` functions, or give it a gradient with `tf.custom_gradient`"


_ESCAPES: tuple[tuple[str, str], ...] = (
    (r"\.predict\w*\(", "`predict` returns NumPy arrays: call the model instead, `model(x, training=True)`"),
    (r"\.get_weights\(", "`get_weights` returns NumPy copies: use the variables themselves, `layer.kernel` or `layer.trainable_variables`"),
    (r"\.numpy\(", "the value leaves TensorFlow at `.numpy()`: drop it, and go on with `tf.` functions on the tensor"),
    (r"\.tolist\(", "the value leaves TensorFlow at `.tolist()`: keep the tensor, and stack pieces with `tf.stack`"),
    (r"convert_to_numpy\(", "the value leaves TensorFlow at `convert_to_numpy`: keep the tensor, and go on with `keras.ops` or `tf.` functions"),
    (r"(?<![\w.])float\(", "`float()` makes a Python number, which has no gradient: keep the tensor"),
    (r"(?<![\w.])int\(", "`int()` makes a Python number, which has no gradient: keep the tensor"),
    (r"(?<![\w.])(np|numpy)\.", "NumPy functions leave TensorFlow: use their `tf.` or `tf.experimental.numpy` namesakes"),
)


def _numpy_escape(s: Situation) -> str:
    for pattern, sentence in _ESCAPES:
        if re.search(pattern, s.code):
            return sentence
    return "the value leaves TensorFlow here and comes back as a constant: keep it a tensor, and go on with `tf.` functions"


def _variable_write(s: Situation) -> str:
    if s.location and "update_state" in (s.location.function, *s.location.inside):
        return "a metric keeps sums in variables, which gradient does not pass: compute the loss with a function, `keras.losses.…(y, y_pred)`"
    written = f"`{s.variable}`" if s.variable else "the variable"
    return f"gradient does not pass through `assign`: use the value itself in the loss, and write it into {written} only to keep it"


def _dataset(s: Situation) -> str:
    if s.op_type == "ReduceDataset" or ".reduce(" in s.code:
        return "`Dataset.reduce` has no gradient: loop over a tensor (`for row in rows:`, `tf.map_fn`, `tf.foldl`), or use `tf.reduce_sum`"
    return "gradient does not pass through `tf.data`: loop over a tensor (`for row in rows:`), or iterate over the dataset outside the step"


def _custom_gradient(s: Situation) -> str:
    if s.kind == "variable" and s.variable:
        return (
            f"the `grad` function of this `tf.custom_gradient` must return a gradient for `{s.variable}`: in its place among those of the inputs, "
            "or, where it is no argument, with `return grad_inputs, grad_variables`, in the order of its argument `variables`"
        )
    return "the `grad` function of this `tf.custom_gradient` drops the incoming gradient for this input: return `upstream` times the derivative"


def _no_gradient_registered(s: Situation) -> str:
    op = f"`{s.op_type}`" if s.op_type else "this op"
    return remedy_for_op(s.op_type, s.dtype) or (
        f"TensorFlow has no gradient for {op}: build it of ops that have one, wrap it in `tf.custom_gradient`, or move it before the first weight"
    )


def _index(s: Situation, index: Index) -> str:
    """Of the break itself, or of one that makes whole numbers for it: then both places have to be written anew."""
    soft = soft_index(index.op_type, index.name)
    if s.op_type == index.op_type:
        return f"`{index.name}` has no gradient: {soft}"
    at = f" on {_line(s, index.frame)}" if index.frame else ""
    return f"this becomes `{index.name}` of `{index.op_type}`{at}, and that has no gradient: keep it float and write both anew, {soft}"


def _non_float(s: Situation) -> str:
    what = f"{'an' if s.dtype.startswith('int') else 'a'} {s.dtype} value" if s.dtype else "an integer, bool or string"
    at = f" of `{s.op_type}`" if s.op_type else ""
    return remedy_for_op(s.op_type, s.dtype) or f"{what}{at} carries no gradient: keep the value float on its way to the loss"


def _not_differentiable(s: Situation) -> str:
    op = f"`{s.op_type}`" if s.op_type else "this op"
    return remedy_for_op(s.op_type, s.dtype) or (
        f"TensorFlow declares {op} not differentiable: build it of ops that are, or give it a gradient with `tf.custom_gradient`"
    )


def _gradient_is_none(s: Situation) -> str:
    op = f"`{s.op_type}`" if s.op_type else "this op"
    return remedy_for_op(s.op_type, s.dtype) or (
        f"TensorFlow's gradient for {op} is None for this input: let gradient take another way, or give it one with `tf.custom_gradient`"
    )


def _gradient_is_zero(s: Situation) -> str:
    op = f"`{s.op_type}`" if s.op_type else "this op"
    return remedy_for_op(s.op_type, s.dtype) or (
        f"TensorFlow's gradient for {op} is always zero for this input, without a warning: use a smooth function in its place"
    )


def _outside_tape(s: Situation) -> str:
    if s.tape_was_reset and not s.tape_closed_after:
        return "`tape.reset()` threw away what ran before it: move this line below the reset, or drop the reset"
    if s.inner_call is not None and not s.tape_closed_after:
        return (
            f"this line and the gradient that line {s.inner_call.line} asks for run before {_with_line(s)}: open that tape further up, around both, "
            "so that it records the inner gradient as well"
        )
    if s.tape_closed_after is None:
        return f"no tape records this line: move it inside {_with_line(s)}"
    if s.tape_closed_after:
        return f"this line runs after the tape has closed: move it into the block of {_with_line(s)}"
    return f"this line runs before {_with_line(s)}: move it inside"


def _recording_stopped(s: Situation) -> str:
    return "this line runs inside `with tape.stop_recording()`: move it out of that block"


def _not_watched(s: Situation) -> str:
    name = s.variable or ("x" if s.kind == "tensor" else "the variable")
    if s.kind == "tensor":
        opened = f", right after {_with_line(s)}" if s.tape_opened else ""
        return f"call `tape.watch({name if name.isidentifier() else 'x'})` before the tensor is used{opened}"
    watch = f"call `tape.watch({'v.value' if s.is_keras else 'v'})` with {_the_variable(s)} as `v`"
    if not s.trainable:
        return f"{_the_variable(s)} has `trainable=False`: ask for `trainable_variables` in place of `variables`, or {watch} if it is meant"
    if not s.watches_variables:
        return f"{watch} right after {_with_line(s, 'watch_accessed_variables=False')}, or let that tape watch what is read"
    return f"{watch} before a raw op is given its handle: the tape did not see it read"


def _non_float_source(s: Situation) -> str:
    if s.kind == "variable" and not s.trainable:
        return f"{_the_variable(s)} is {s.dtype or 'no float'} and not trainable: ask for `trainable_variables` in place of `variables`"
    if s.dtype == "string":
        return "text cannot be trained: leave it out of the sources"
    is_ = f"is {s.dtype}" if s.dtype else "is not a float"
    made = "`tf.Variable(1.0)`" if s.kind == "variable" else "`tf.constant(1.0)`"
    return f"{_the_variable(s)} {is_}, and only floats are differentiated: make it with a float, {made}, or `dtype=tf.float32`"


def _captured_value(s: Situation) -> str:
    return "this value was computed once, before the step, and is a constant to it: compute it from the variables inside the step, under the tape"


def _never_read(s: Situation) -> str:
    if s.kind == "tensor":
        return "the loss is not computed from this tensor: use it on the way to the loss, or leave it out of the sources"
    if s.layer:
        return f"the step never reads {_the_variable(s)}: call its layer `{s.layer}` on the way to the loss, or leave it out of the sources"
    return f"the step never reads {_the_variable(s)}: use it on the way to the loss, or leave it out of the sources"


def _unused_result(s: Situation) -> str:
    return "what is computed here never reaches the loss: add it to the loss, or leave its variables out of the sources"


_ORDERINGS = frozenset({"Greater", "GreaterEqual", "Less", "LessEqual"})


def _other_branch(s: Situation) -> str:
    if s.branch.isdigit():
        return "compute all branches and sum them with `tf.one_hot` weights, or accept zeros in the steps that take another branch"
    soft = ", or blend them with a soft condition, `tf.sigmoid(k * (a - b))`" if s.condition in _ORDERINGS else ""
    return f"compute both sides and choose with `tf.where`{soft}, or accept zeros in the steps that take the other branch"


def _tape_reused(s: Situation) -> str:
    opened = f" on line {s.tape_opened.line}" if s.tape_opened else ""
    return f"a tape answers once: ask for all sources in one call, or open it{opened} with `tf.GradientTape(persistent=True)`"


def _numerically_zero(s: Situation) -> str:
    at = f" of `{s.op_type}`" if s.op_type else ""
    if s.lost is Lost.NOT_FINITE:
        return (
            f"keep the values{at} away from where it is not finite, with `tf.maximum(x, 1e-6)` or `tf.math.divide_no_nan`, before the op and not by "
            "`tf.where` behind it: zero times infinity is NaN"
        )
    if s.lost is Lost.EMPTY:
        return "the way is open but nothing was on it: look at the mask, the indices or the slice of this line, which kept no element"
    if s.op_type == "BiasAdd":
        return (
            "what follows may take a constant away again, as a normalisation does, or the softmax over the keys of an attention: leave the bias out "
            "with `use_bias=False`, or as it is, since it does no harm; else look at the values for saturation or clipping"
        )
    if s.lost is Lost.CANCELS:
        return (
            "the loss does not change with this value, since its ways there cancel: if only some of them are meant, put `tf.stop_gradient` around "
            "the value on the others; else it does no harm"
        )
    return f"the way is open but the number was zero: look at the values{at} for saturation, clipping, or a softmax over one unit"


def _not_probed(s: Situation) -> str:
    op = f"`{s.op_type}`" if s.op_type else "this op"
    if s.raises:
        if not s.op_type:
            return "the call itself raises, so nothing gets a gradient from it: mend what it says"
        return f"the gradient function of {op} raises, and with it the whole call: mend what it says, or keep this op off the way to the loss"
    return f"tapetrace could not ask TensorFlow for the gradient of {op}: run the check with `--numeric` to see the number"


_OF_OPS = frozenset({Cause.NON_FLOAT, Cause.GRADIENT_IS_NONE, Cause.GRADIENT_IS_ZERO, Cause.NOT_DIFFERENTIABLE, Cause.NO_GRADIENT_REGISTERED})
_BY_CAUSE: Mapping[Cause, Callable[[Situation], str]] = {
    Cause.STOP_GRADIENT: _stop_gradient,
    Cause.PYTHON_FUNCTION: _python_function,
    Cause.NUMPY_ESCAPE: _numpy_escape,
    Cause.VARIABLE_WRITE: _variable_write,
    Cause.DATASET: _dataset,
    Cause.CUSTOM_GRADIENT: _custom_gradient,
    Cause.NO_GRADIENT_REGISTERED: _no_gradient_registered,
    Cause.NON_FLOAT: _non_float,
    Cause.NOT_DIFFERENTIABLE: _not_differentiable,
    Cause.GRADIENT_IS_NONE: _gradient_is_none,
    Cause.GRADIENT_IS_ZERO: _gradient_is_zero,
    Cause.OUTSIDE_TAPE: _outside_tape,
    Cause.RECORDING_STOPPED: _recording_stopped,
    Cause.NOT_WATCHED: _not_watched,
    Cause.NON_FLOAT_SOURCE: _non_float_source,
    Cause.CAPTURED_VALUE: _captured_value,
    Cause.NEVER_READ: _never_read,
    Cause.UNUSED_RESULT: _unused_result,
    Cause.OTHER_BRANCH: _other_branch,
    Cause.TAPE_REUSED: _tape_reused,
    Cause.NUMERICALLY_ZERO: _numerically_zero,
    Cause.NOT_PROBED: _not_probed,
}
