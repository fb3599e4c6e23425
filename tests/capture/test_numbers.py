"""Numbers of gradients on steps that are small enough to know the answer: what is zero though live, and where it is lost."""

from __future__ import annotations

from typing import Any

import keras
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause, Verdict
from tests.capture.measured import BOTH, Step, asking, first, line, run, variable


def test_norm_and_counts() -> None:
    w = variable([3.0, 0.0, -4.0])

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(w)) * x
        return tape.gradient(loss, w)

    found = first(run(step, tf.constant(0.5)))
    assert found.verdict is Verdict.CONNECTED
    assert found.numbers == tapetrace.model.report.Numbers(5.0, 1, 0, 0)


def test_rows_of_a_table_that_meet_are_added() -> None:
    table = variable([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]], "table")

    def step(ids: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(table, ids) * tf.constant([[1.0, 0.0], [2.0, 4.0]]))
        return tape.gradient(loss, table)

    found = first(run(step, tf.constant([1, 1])))
    assert found.numbers is not None
    assert found.numbers.norm == 5.0


# Zero though live. Each step has a variable `w`, and a piece of the line at which its gradient is lost.


def saturated_sigmoid(w: tf.Variable) -> Any:
    h = w * 1.0
    p = tf.sigmoid(h + 40.0)
    return tf.reduce_mean(tf.square(p - 0.5))


def saturated_tanh(w: tf.Variable) -> Any:
    p = tf.tanh(w * 200.0)
    return tf.reduce_mean(p * 3.0)


def dead_relu(w: tf.Variable) -> Any:
    p = tf.nn.relu(-tf.square(w) - 1.0)
    return tf.reduce_mean(tf.square(p - 1.0))


def clipped(w: tf.Variable) -> Any:
    p = tf.clip_by_value(w, 10.0, 20.0)
    return tf.reduce_mean(tf.math.log(p))


def softmax_over_one_unit(w: tf.Variable) -> Any:
    logits = tf.reshape(w, [-1, 1])
    p = tf.nn.softmax(logits)
    return tf.reduce_mean(tf.square(p - 0.25))


def softmax_summed(w: tf.Variable) -> Any:
    p = tf.nn.softmax(w * 0.37)
    return tf.reduce_sum(p) * 4.0


def cross_entropy_of_one_class(w: tf.Variable) -> Any:
    logits = tf.reshape(w, [-1, 1])
    labels = tf.zeros([2], tf.int32)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


def zero_mask(w: tf.Variable) -> Any:
    h = tf.exp(w)
    h = h * tf.cast(h > 1000.0, tf.float32)
    return tf.reduce_mean(tf.square(h - 1.0))


def nothing_selected(w: tf.Variable) -> Any:
    h = tf.exp(w)
    chosen = tf.boolean_mask(h, h > 1000.0)
    return tf.reduce_sum(chosen) + 1.0


def other_side_of_where(w: tf.Variable) -> Any:
    h = w * 3.0
    h = tf.where(h > 1000.0, h, tf.zeros_like(h))
    return tf.reduce_sum(h)


def maximum_with_a_larger_constant(w: tf.Variable) -> Any:
    h = tf.maximum(w, 50.0)
    return tf.reduce_sum(h)


def hinge_that_is_met(w: tf.Variable) -> Any:
    margin = 1.0 - 100.0 * w
    return tf.reduce_mean(tf.maximum(0.0, margin))


def squared_at_its_minimum(w: tf.Variable) -> Any:
    gap = w - tf.identity(tf.stop_gradient(w))
    return tf.reduce_sum(tf.square(gap))


def unit_that_is_normalised_alone(w: tf.Variable) -> Any:
    h = tf.reshape(w, [2, 1]) * 2.0
    h = tf.math.l2_normalize(h, axis=1)
    return tf.reduce_sum(h)


ZERO = {
    saturated_sigmoid: "tf.sigmoid(h + 40.0)",
    saturated_tanh: "tf.tanh(w * 200.0)",
    dead_relu: "tf.nn.relu(",
    clipped: "tf.clip_by_value(",
    softmax_over_one_unit: "p = tf.nn.softmax(logits)",
    softmax_summed: "p = tf.nn.softmax(",
    cross_entropy_of_one_class: "sparse_softmax_cross_entropy_with_logits(",
    zero_mask: "h = h * tf.cast(h > 1000.0",
    nothing_selected: "tf.boolean_mask(",
    other_side_of_where: "tf.where(",
    maximum_with_a_larger_constant: "tf.maximum(w, 50.0)",
    hinge_that_is_met: "tf.maximum(0.0, margin)",
    squared_at_its_minimum: "tf.square(gap)",
    unit_that_is_normalised_alone: "l2_normalize(h, axis=1)",
}


@pytest.mark.parametrize("loss_of", ZERO, ids=lambda f: f.__name__)
@BOTH
def test_zero_though_live(loss_of: Step, mode: str) -> None:
    w = variable([1.1, 0.3])
    found = first(run(asking(loss_of, w), mode=mode))
    assert (found.verdict, found.cause) == (Verdict.ZERO, Cause.NUMERICALLY_ZERO)
    assert ZERO[loss_of] in line(found)


@BOTH
def test_one_place_is_one_root_cause(mode: str) -> None:
    w, b = variable([[2.0], [3.0]], "w"), variable([100.0], "b")

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            p = tf.nn.relu(-tf.abs(tf.matmul(x, w) + b))
            loss = tf.reduce_sum(p) + tf.reduce_sum(b)
        return tape.gradient(loss, [w, b])

    report = run(step, tf.ones([4, 2]), mode=mode)
    assert [s.verdict for s in report.calls[0].sources] == [Verdict.ZERO, Verdict.CONNECTED]
    assert [(r.number, r.cause, r.blocks, r.reconnects) for r in report.root_causes] == [(1, Cause.NUMERICALLY_ZERO, ("w",), ("w",))]
    assert report.calls[0].sources[0].breaks[0].root_cause == 1
    assert not report.ok


@BOTH
def test_paths_that_cancel_break_where_they_part(mode: str) -> None:
    mu, sigma = variable(0.4, "mu"), variable(1.5, "sigma")

    def step(noise: Any) -> Any:
        with tf.GradientTape() as tape:
            z = mu + sigma * noise
            log_prob = -tf.square((z - mu) / sigma) / 2.0 - tf.math.log(sigma)
            loss = tf.reduce_mean(log_prob)
        return tape.gradient(loss, [mu, sigma])

    report = run(step, tf.constant([0.3, -1.2, 0.7]), mode=mode)
    mean, spread = report.calls[0].sources
    assert (mean.verdict, spread.verdict) == (Verdict.ZERO, Verdict.CONNECTED)
    assert line(mean) == "z = mu + sigma * noise"
    assert "2 paths" in mean.breaks[0].detail


@BOTH
def test_paths_of_an_encoder_that_cancel(mode: str) -> None:
    w = variable([[0.4, -0.2]], "w")

    def step(x: Any, noise: Any) -> Any:
        with tf.GradientTape() as tape:
            mean = tf.matmul(x, w)
            z = mean + noise
            loss = tf.reduce_mean(tf.square(z - mean) + 1.0)
        return tape.gradient(loss, [w])

    found = first(run(step, tf.ones([3, 1]), tf.constant([[0.3, -1.2]]), mode=mode))
    assert found.verdict is Verdict.ZERO
    assert line(found) == "z = mean + noise"


@BOTH
def test_bias_before_batch_normalisation(mode: str) -> None:
    dense, norm, out = keras.layers.Dense(3, name="dense"), keras.layers.BatchNormalization(name="norm"), keras.layers.Dense(1, name="out")
    model = keras.Sequential([keras.Input((4,)), dense, norm, keras.layers.ReLU(), out])
    x = tf.random.stateless_normal([16, 4], [1, 2])

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True) - 1.0))
        return tape.gradient(loss, model.trainable_variables)

    report = run(step, x, mode=mode)
    assert [s.path.partition("/")[2] for s in report.calls[0].sources if s.verdict is Verdict.ZERO] == ["dense/bias"]
    assert {s.verdict for s in report.calls[0].sources} == {Verdict.ZERO, Verdict.CONNECTED}


@BOTH
def test_key_bias_of_attention(mode: str) -> None:
    attention = keras.layers.MultiHeadAttention(2, 4, name="attention")
    x = tf.random.stateless_normal([2, 5, 8], [3, 4])
    attention(x, x)

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            h = attention(x, x)
            loss = tf.reduce_mean(tf.square(h - 1.0))
        return tape.gradient(loss, attention.trainable_variables)

    report = run(step, x, mode=mode)
    zero = {s.path: line(s) for s in report.calls[0].sources if s.verdict is Verdict.ZERO}
    assert zero == {"attention/key/bias": "h = attention(x, x)"}
    assert len(report.calls[0].sources) == 8


@BOTH
def test_what_is_small_is_not_zero(mode: str) -> None:
    w, b = variable(2.0, "w"), variable(0.5, "b")

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = 1e9 * tf.square(w) * x + b * 1e-3 + tf.sigmoid(w)
        return tape.gradient(loss, [w, b])

    assert [s.verdict for s in run(step, tf.constant(1.0), mode=mode).calls[0].sources] == [Verdict.CONNECTED] * 2


@BOTH
def test_a_unit_of_measurement_is_not_saturation(mode: str) -> None:
    metres = variable(2.0e8, "metres")

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.square(metres * 1e-8 - 1.0)
        return tape.gradient(loss, metres)

    assert first(run(step, mode=mode)).verdict is Verdict.CONNECTED


# NaN and infinity.


def where_with_a_logarithm(w: tf.Variable) -> Any:
    h = w * 3.0
    y = tf.math.log(h)
    return tf.reduce_sum(tf.where(h > 0.0, y, h))


def square_root_at_zero(w: tf.Variable) -> Any:
    h = tf.abs(w)
    y = tf.sqrt(h)
    return tf.reduce_sum(y)


def norm_at_zero(w: tf.Variable) -> Any:
    h = w * 3.0
    return tf.norm(h) + 1.0


def root_of_a_negative_number(w: tf.Variable) -> Any:
    h = tf.exp(w)
    y = tf.sqrt(h - 10.0)
    return tf.reduce_mean(y) * 2.0


NOT_FINITE = {
    where_with_a_logarithm: ("y = tf.math.log(h)", "turns"),
    square_root_at_zero: ("y = tf.sqrt(h)", "the gradient turns Inf here"),
    norm_at_zero: ("tf.norm(h)", "turns"),
    root_of_a_negative_number: ("y = tf.sqrt(h - 10.0)", "the value is NaN"),
}


@pytest.mark.parametrize("loss_of", NOT_FINITE, ids=lambda f: f.__name__)
@BOTH
def test_not_finite(loss_of: Step, mode: str) -> None:
    report = run(asking(loss_of, variable([0.0, 0.0])), mode=mode)
    found = first(report)
    code, detail = NOT_FINITE[loss_of]
    assert found.numbers is not None
    assert found.numbers.nan + found.numbers.inf == 2
    assert (found.verdict, found.cause) == (Verdict.CONNECTED, Cause.NUMERICALLY_ZERO)
    assert code in line(found)
    assert detail in found.breaks[0].detail
    assert [r.cause for r in report.root_causes] == [Cause.NUMERICALLY_ZERO]


def test_without_numeric_there_are_no_numbers() -> None:
    w = variable([1.0])
    report = tapetrace.check(asking(dead_relu, w))
    assert (first(report).verdict, first(report).numbers) == (Verdict.CONNECTED, None)


def test_the_drawing_shows_the_break() -> None:
    w = variable([1.0, 2.0])
    report = run(asking(dead_relu, w))
    status = {name: data["status"] for name, data in report.graph.nodes(data=True)}
    causes = {data["cause"] for _, data in report.graph.nodes(data=True)}
    assert status["w"] == "dead"
    assert status[first(report).breaks[0].op] == "break"
    assert causes == {None, "numerically_zero"}
