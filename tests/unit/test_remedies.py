"""Remedies say what to do here; every cause has one, and an explanation."""

from __future__ import annotations

import ast

import pytest

from tapetrace.analysis.explanations import EXPLANATIONS, explain_cause, find_explanation
from tapetrace.analysis.op_remedies import remedy_for_op
from tapetrace.analysis.remedies import Index, Situation, remedy_for
from tapetrace.analysis.vanishing import Lost
from tapetrace.errors import UsageError
from tapetrace.model.locations import Frame, Location
from tapetrace.model.words import Cause

OPENED = Frame("step.py", 34, "train_step", "with tf.GradientTape() as tape:")
HERE = Location.new("step.py", 33, "train_step", "y = model(x)")
ELSEWHERE = Location.new("losses.py", 3, "loss", "y = model(x)")


@pytest.mark.parametrize("cause", Cause)
@pytest.mark.parametrize("op_type", ["", "SomeOp"])
@pytest.mark.parametrize("kind", ["variable", "tensor"])
def test_every_cause_has_a_remedy_of_one_sentence(cause: Cause, op_type: str, kind: str) -> None:
    remedy = remedy_for(Situation(cause, op_type=op_type, kind=kind))
    assert 30 < len(remedy) < 300
    assert "\n" not in remedy
    assert not remedy.endswith((".", " "))
    assert remedy.count("`") % 2 == 0
    assert "``" not in remedy


@pytest.mark.parametrize(
    ("situation", "said"),
    [
        (
            Situation(Cause.OUTSIDE_TAPE, location=HERE, tape_opened=OPENED, tape_closed_after=False),
            "this line runs before `with tf.GradientTape()` on line 34: move it inside",
        ),
        (
            Situation(Cause.OUTSIDE_TAPE, location=HERE, tape_opened=OPENED, tape_closed_after=True),
            "this line runs after the tape has closed: move it into the block of `with tf.GradientTape()` on line 34",
        ),
        (Situation(Cause.OUTSIDE_TAPE, location=ELSEWHERE, tape_opened=OPENED, tape_closed_after=False), "on line 34 of step.py: move it inside"),
        (Situation(Cause.OUTSIDE_TAPE), "no tape records this line: move it inside `with tf.GradientTape()`"),
        (Situation(Cause.OUTSIDE_TAPE, tape_was_reset=True, tape_closed_after=False), "`tape.reset()` threw away what ran before it"),
        (Situation(Cause.OUTSIDE_TAPE, tape_was_reset=True, tape_closed_after=True), "after the tape has closed"),
        (Situation(Cause.RECORDING_STOPPED), "move it out of that block"),
        (Situation(Cause.STOP_GRADIENT, source_line="z = tf.stop_gradient(z)"), "remove the `tf.stop_gradient` here"),
        (Situation(Cause.STOP_GRADIENT, source_line="z = quantize(z)"), "`tf.stop_gradient` that this line leads to"),
        (Situation(Cause.STOP_GRADIENT, op_type="PreventGradient"), "differentiate this value once only"),
        (Situation(Cause.PYTHON_FUNCTION, op_type="PyFunc"), "cannot see into `tf.numpy_function`"),
        (Situation(Cause.PYTHON_FUNCTION, op_type="EagerPyFunc"), "`tf.py_function` passes gradient through TensorFlow ops only"),
        (Situation(Cause.NUMPY_ESCAPE, source_line="p = model.predict(x)"), "call the model instead, `model(x, training=True)`"),
        (Situation(Cause.NUMPY_ESCAPE, source_line="w = layer.get_weights()[0]"), "`layer.kernel`"),
        (Situation(Cause.NUMPY_ESCAPE, source_line="m = np.mean(x.numpy())"), "leaves TensorFlow at `.numpy()`"),
        (Situation(Cause.NUMPY_ESCAPE, source_line="m = np.mean(x)"), "NumPy functions leave TensorFlow"),
        (Situation(Cause.NUMPY_ESCAPE, source_line="print(tnp.mean(x))"), "the value leaves TensorFlow here"),
        (Situation(Cause.NUMPY_ESCAPE, source_line="n = int(x)"), "`int()` makes a Python number"),
        (Situation(Cause.NUMPY_ESCAPE, source_line="n = float(x)"), "`float()` makes a Python number"),
        (Situation(Cause.VARIABLE_WRITE, variable="kept"), "write it into `kept` only to keep it"),
        (Situation(Cause.DATASET, op_type="ReduceDataset"), "`Dataset.reduce` has no gradient"),
        (Situation(Cause.DATASET, op_type="IteratorGetNext"), "iterate over the dataset outside the step"),
        (Situation(Cause.CUSTOM_GRADIENT, variable="w"), "must return a gradient for `w`"),
        (Situation(Cause.CUSTOM_GRADIENT), "return `upstream` times the derivative"),
        (Situation(Cause.NOT_WATCHED, kind="tensor", variable="x", tape_opened=OPENED), "`tape.watch(x)` before the tensor is used, right after"),
        (Situation(Cause.NOT_WATCHED, kind="tensor", variable="Const:0"), "call `tape.watch(x)`"),
        (Situation(Cause.NOT_WATCHED, variable="w", trainable=False), "`w` has `trainable=False`: ask for `trainable_variables`"),
        (Situation(Cause.NOT_WATCHED, variable="w", is_keras=True, trainable=False), "`tape.watch(v.value)` with `w` as `v`"),
        (
            Situation(Cause.NOT_WATCHED, variable="w", is_keras=True, watches_variables=False, tape_opened=OPENED),
            "`tape.watch(v.value)` with `w` as `v` right after `with tf.GradientTape(watch_accessed_variables=False)` on line 34",
        ),
        (Situation(Cause.NOT_WATCHED, variable="w"), "`tape.watch(v)` with `w` as `v` before a raw op is given its handle"),
        (Situation(Cause.NON_FLOAT_SOURCE, variable="w", dtype="int32"), "`w` is int32, and only floats are differentiated: make it with a float"),
        (Situation(Cause.NON_FLOAT_SOURCE, dtype="string"), "text cannot be trained"),
        (Situation(Cause.NEVER_READ, variable="w", layer="pool"), "never reads `w`: call its layer `pool`"),
        (Situation(Cause.NEVER_READ, variable="w"), "the step never reads `w`"),
        (Situation(Cause.NEVER_READ, kind="tensor"), "not computed from this tensor"),
        (Situation(Cause.OTHER_BRANCH, branch="true"), "choose with `tf.where`, or accept zeros"),
        (Situation(Cause.OTHER_BRANCH, branch="true", condition="Greater"), "`tf.sigmoid(k * (a - b))`"),
        (Situation(Cause.OTHER_BRANCH, branch="2"), "`tf.one_hot` weights"),
        (Situation(Cause.TAPE_REUSED, tape_opened=OPENED), "open it on line 34 with `tf.GradientTape(persistent=True)`"),
        (Situation(Cause.NUMERICALLY_ZERO, op_type="Relu"), "values of `Relu` for saturation"),
        (Situation(Cause.NUMERICALLY_ZERO, op_type="Mul", lost=Lost.CANCELS), "its ways there cancel"),
        (Situation(Cause.NUMERICALLY_ZERO, op_type="GatherV2", lost=Lost.EMPTY), "which kept no element"),
        (Situation(Cause.NUMERICALLY_ZERO, op_type="Sqrt", lost=Lost.NOT_FINITE), "keep the values of `Sqrt` away"),
        (Situation(Cause.NUMERICALLY_ZERO, op_type="BiasAdd", lost=Lost.NOT_FINITE), "keep the values of `BiasAdd` away"),
        (Situation(Cause.NO_GRADIENT_REGISTERED, op_type="MatrixLogarithm"), "no gradient for `MatrixLogarithm`: build it of ops that have one"),
        (Situation(Cause.NO_GRADIENT_REGISTERED, op_type="AdjustContrastv2"), "`(x - m) * factor + m`"),
        (Situation(Cause.NOT_DIFFERENTIABLE, op_type="DecodeRaw"), "declares `DecodeRaw` not differentiable"),
        (Situation(Cause.NON_FLOAT, op_type="SomeOp", dtype="int64"), "an int64 value of `SomeOp` carries no gradient"),
        (Situation(Cause.NON_FLOAT, op_type="Cast", dtype="int32"), "`tf.cast` to int32 cuts the gradient"),
        (Situation(Cause.NON_FLOAT, op_type="Cast", dtype="bool"), "a soft answer between 0 and 1"),
        (Situation(Cause.NON_FLOAT, op_type="Less"), "`tf.sigmoid(k * (b - a))` for `a < b`"),
        (Situation(Cause.NON_FLOAT, op_type="ArgMax"), "`w = tf.nn.softmax(k * scores)`"),
        (Situation(Cause.NON_FLOAT, op_type="TopKV2"), "use the values (`tf.sort`"),
        (Situation(Cause.NON_FLOAT, op_type="StatelessMultinomial"), "Gumbel-softmax"),
        (Situation(Cause.NO_GRADIENT_REGISTERED, op_type="RandomPoissonV2"), "use the score function"),
        (Situation(Cause.GRADIENT_IS_NONE, op_type="Round"), "`x + tf.stop_gradient(tf.round(x) - x)`"),
        (Situation(Cause.NON_FLOAT, op_type="ResourceGather", index=Index("ResourceGather", "indices")), "`indices` has no gradient: weigh all rows"),
        (Situation(Cause.NON_FLOAT, op_type="OneHot", index=Index("OneHot", "depth")), "`depth` has no gradient: take a number that is fixed"),
        (
            Situation(Cause.NON_FLOAT, op_type="Cast", dtype="int32", location=HERE, index=Index("UnsortedSegmentSum", "segment_ids", OPENED)),
            "this becomes `segment_ids` of `UnsortedSegmentSum` on line 34, and that has no gradient: keep it float and write both anew, let",
        ),
        (Situation(Cause.NON_FLOAT, op_type="Greater", index=Index("GatherV2", "indices")), "`tf.sigmoid(k * (a - b))` for `a > b`"),
        (Situation(Cause.GRADIENT_IS_NONE, op_type="Betainc"), "gradient for `Betainc` is None for this input"),
        (Situation(Cause.GRADIENT_IS_ZERO, op_type="Sign"), "`tf.tanh(k * x)`"),
        (Situation(Cause.NOT_PROBED, op_type="Odd"), "the gradient of `Odd`: run the check with `--numeric`"),
    ],
)  # fmt: skip
def test_a_remedy_speaks_of_the_situation(situation: Situation, said: str) -> None:
    assert said in remedy_for(situation)


def test_an_unknown_op_has_no_remedy_of_its_own() -> None:
    assert remedy_for_op("MatMul") == ""


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_is_explained(cause: Cause) -> None:
    explanation = EXPLANATIONS[cause]
    assert explanation.meaning.endswith(".")
    assert explanation.mend.endswith(".")
    for code in (explanation.before, explanation.after):
        ast.parse(code)
        assert cause is Cause.NOT_PROBED or "gradient" in code
    text = explain_cause(cause, width=80)
    assert text.startswith(f"{cause.value}\n\n")
    assert all(len(line) <= 80 or line.startswith("    ") for line in text.splitlines())


@pytest.mark.parametrize("name", ["stop_gradient", "Stop-Gradient", " STOP GRADIENT "])
def test_a_cause_is_found_by_any_spelling(name: str) -> None:
    assert find_explanation(name).cause is Cause.STOP_GRADIENT


@pytest.mark.parametrize(("name", "close"), [("stop_gradeint", "stop_gradient"), ("tape", "tape_reused"), ("never", "never_read")])
def test_an_unknown_cause_names_the_closest_and_lists_all(name: str, close: str) -> None:
    with pytest.raises(UsageError) as e:
        find_explanation(name)
    guess, _, listed = str(e.value).partition("): type `tapetrace explain` and one of ")
    assert guess.startswith(f"no cause is called '{name}' (did you mean ")
    assert close in guess
    assert listed.split(", ") == [c.value for c in Cause]


def test_nonsense_gets_no_guess() -> None:
    with pytest.raises(UsageError, match=r"^no cause is called 'zzzzqqqq': type `tapetrace explain` and one of stop_gradient, "):
        find_explanation("zzzzqqqq")
