"""The examples of ``tapetrace explain`` run on the TensorFlow installed here: broken before the mend, real gradient after it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tapetrace.analysis.explanations import EXPLANATIONS, Explanation
from tapetrace.model.words import Cause

WITH_EXAMPLE = [e for e in EXPLANATIONS.values() if e.before]
RAISES: dict[Cause, type[Exception]] = {Cause.NO_GRADIENT_REGISTERED: LookupError, Cause.TAPE_REUSED: RuntimeError}


def run(code: str) -> Any:
    names: dict[str, Any] = {"tf": tf, "np": np}
    exec(compile(code, "example", "exec"), names)
    return names["gradient"]


def is_real(gradient: Any) -> bool:
    return gradient is not None and bool(np.any(np.asarray(gradient) != 0)) and bool(np.all(np.isfinite(gradient)))


@pytest.mark.parametrize("explanation", WITH_EXAMPLE, ids=lambda e: e.cause.value)
def test_before_the_mend_no_gradient(explanation: Explanation) -> None:
    if explanation.cause in RAISES:
        with pytest.raises(RAISES[explanation.cause]):
            run(explanation.before)
    else:
        assert not is_real(run(explanation.before))


@pytest.mark.parametrize("explanation", WITH_EXAMPLE, ids=lambda e: e.cause.value)
def test_after_the_mend_real_gradient(explanation: Explanation) -> None:
    assert is_real(run(explanation.after))


x = tf.constant([0.3, 1.7, -0.6])
y = tf.constant([1.1, 0.4, -0.5])
i = tf.constant([[0.1, 0.7, 0.4], [0.9, 0.2, 0.3]])

SAME_VALUE: dict[str, tuple[Any, Any]] = {
    "hsv_to_rgb": (
        tf.image.hsv_to_rgb(i),
        tf.stack(
            [
                i[:, 2] - i[:, 2] * i[:, 1] * tf.maximum(0.0, tf.minimum(tf.minimum(k, 4.0 - k), 1.0))
                for k in ((n + 6.0 * i[:, 0]) % 6.0 for n in (5.0, 3.0, 1.0))
            ],
            -1,
        ),
    ),
    "adjust_contrast": (
        tf.image.adjust_contrast(i[None, :, :, None], 2.0),
        (i[None, :, :, None] - tf.reduce_mean(i)) * 2.0 + tf.reduce_mean(i),
    ),
    "linspace": (tf.linspace(2.0, 5.0, 4), 2.0 + (5.0 - 2.0) * tf.linspace(0.0, 1.0, 4)),
    "soft ranks": (
        tf.cast(tf.argsort(tf.argsort(x)), tf.float32),
        tf.reduce_sum(tf.sigmoid(1e4 * (x[:, None] - x[None, :])), axis=1) - 0.5,
    ),
    "greater": (tf.cast(x > y, tf.float32), tf.sigmoid(1e4 * (x - y))),
    "less": (tf.cast(x < y, tf.float32), tf.sigmoid(1e4 * (y - x))),
    "equal": (tf.cast(x == y, tf.float32), tf.exp(-1e6 * (x - y) ** 2)),
}


@pytest.mark.parametrize("name", SAME_VALUE)
def test_what_remedies_write_in_place_of_an_op_has_its_value(name: str) -> None:
    hard, soft = SAME_VALUE[name]
    np.testing.assert_allclose(hard, soft, atol=1e-5)
