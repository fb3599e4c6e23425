"""Models and optimizers of tf_keras, the Keras 2 that goes on beside Keras 3."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause
from tests.capture.cases import verdicts

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:tf_keras", "ignore::DeprecationWarning:tensorflow")
keras = pytest.importorskip("tf_keras", reason="not among the test dependencies: it would install another TensorFlow beside tensorflow-cpu")
layers = keras.layers

R = np.random.default_rng(0)
ROWS, TARGETS = R.normal(size=(6, 4)).astype("float32"), R.normal(size=(6, 1)).astype("float32")
WORDS, STEPS, CLASSES = R.integers(0, 10, (6, 5)), R.normal(size=(6, 5, 3)).astype("float32"), R.integers(0, 3, (6,))


def compiled(model: Any, **options: Any) -> Any:
    model.compile(**{"optimizer": "adam", "loss": "mse", **options})
    return model


def sequential(*parts: Any, **options: Any) -> Any:
    return compiled(keras.Sequential(list(parts)), **options)


def dense(**options: Any) -> Any:
    return sequential(keras.Input((4,)), layers.Dense(3, activation="relu"), layers.BatchNormalization(), layers.Dense(1), **options)


def words() -> Any:
    parts = layers.Embedding(10, 4, mask_zero=True), layers.Bidirectional(layers.LSTM(3)), layers.Dense(3, activation="softmax")
    return sequential(keras.Input((5,), dtype="int32"), *parts, loss="sparse_categorical_crossentropy", metrics=["accuracy"])


def mixed() -> Any:
    half = keras.mixed_precision.Policy("mixed_float16")
    optimizer = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.Adam())
    return sequential(keras.Input((4,)), layers.Dense(3, dtype=half), layers.Dense(1, dtype="float32"), optimizer=optimizer)


MODELS: dict[str, tuple[Callable[[], Any], tuple[Any, ...]]] = {
    "dense": (dense, (ROWS, TARGETS)),
    "sample weights": (dense, (ROWS, TARGETS, np.ones(6, "float32"))),
    "words": (words, (WORDS, CLASSES)),
    "gru": (lambda: sequential(keras.Input((5, 3)), layers.GRU(3), layers.Dense(1)), (STEPS, TARGETS)),
    "an optimizer of old": (lambda: dense(optimizer=keras.optimizers.legacy.Adam(clipnorm=1.0)), (ROWS, TARGETS)),
    "mixed precision": (mixed, (ROWS, TARGETS)),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("given", ["a batch", "nothing"])
def test_every_variable_gets_gradient(name: str, given: str) -> None:
    make, data = MODELS[name]
    model = make()
    report = tapetrace.check(model, *(data if given == "a batch" else ()))
    (call,) = report.calls
    assert report.ok
    assert [s.name for s in call.sources] == [v.name for v in model.trainable_variables]
    assert [s.path for s in call.sources] == [v.name.removesuffix(":0") for v in model.trainable_variables]
    assert (report.agreement.disagreed, report.not_asked, report.error) == ((), (), None)
    assert report.keras == keras.__version__
    model.fit(*data[:2], verbose=0)  # the check left it usable


def test_names_and_owners() -> None:
    model = sequential(keras.Input((4,)), layers.Dense(1, name="out"))
    assert [(s.name, s.path, s.owner) for s in tapetrace.check(model).calls[0].sources] == [
        ("out/kernel:0", "out/kernel", "out"), ("out/bias:0", "out/bias", "out"),
    ]  # fmt: skip


class Broken(keras.Model):  # type: ignore[misc, name-defined]
    """tf_keras tracks bare variables, which Keras 3 does not."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.out = layers.Dense(3, name="hidden"), layers.Dense(1, name="out")
        self.scale, self.unused = tf.Variable(1.0, name="scale"), tf.Variable(1.0, name="unused")

    def call(self, x: Any) -> Any:
        return self.out(tf.stop_gradient(self.hidden(x))) * self.scale


def test_a_break_and_a_variable_that_is_never_read() -> None:
    report = tapetrace.check(compiled(Broken()), ROWS, TARGETS)
    assert {s.path.rpartition("/")[0].rpartition("/")[2] or s.path: s.cause for s in report.calls[0].sources} == {
        "hidden": Cause.STOP_GRADIENT, "out": None, "scale": None, "unused": Cause.NEVER_READ,
    }  # fmt: skip
    assert report.root_causes[0].location is not None
    assert report.root_causes[0].location.code == "return self.out(tf.stop_gradient(self.hidden(x))) * self.scale"


def test_frozen_layers_are_neither_broken_nor_missing() -> None:
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="still"), layers.Dense(1)])
    model.layers[0].trainable = False
    report = tapetrace.check(compiled(model), ROWS, TARGETS)
    assert (report.ok, len(report.calls[0].sources), report.not_asked) == (True, 2, ())


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_minimize(old: bool, mode: str) -> None:
    w, v = tf.Variable([1.0, 2.0], name="w"), tf.Variable([3.0, 4.0], name="v")
    optimizer = keras.optimizers.legacy.SGD(0.1) if old else keras.optimizers.SGD(0.1)

    def step() -> None:
        optimizer.minimize(lambda: tf.reduce_sum(w * tf.stop_gradient(v)), [w, v])

    report = tapetrace.check(step, mode=mode)
    assert verdicts(report) == "connected none"
    assert report.calls[0].location is not None
    assert report.calls[0].location.code.startswith("optimizer.minimize(")
    assert w.numpy().tolist() == [1.0, 2.0]


def test_compute_and_apply() -> None:
    w, v = tf.Variable([1.0, 2.0], name="w"), tf.Variable([3.0, 4.0], name="v")
    optimizer = keras.optimizers.SGD(0.1)

    def step() -> None:
        optimizer.apply_gradients(optimizer.compute_gradients(lambda: tf.reduce_sum(w * v), [w, v]))

    assert verdicts(tapetrace.check(step)) == "connected connected"


def test_fit_under_watch() -> None:
    model = dense()
    with tapetrace.watch() as seen:
        model.fit(ROWS, TARGETS, verbose=0)
    assert seen.report.ok
    assert [s.name for s in seen.report.calls[0].sources] == [v.name for v in model.trainable_variables]


def test_not_compiled() -> None:
    with pytest.raises(tapetrace.TapetraceError, match="is not compiled: call"):
        tapetrace.check(keras.Sequential([layers.Dense(1)]), ROWS, TARGETS)


def test_as_tf_keras_by_the_environment(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import tensorflow as tf\nmodel = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1, name='out')])\n"
        "model.compile('sgd', 'mse')\n"
    )
    environment = {"TF_USE_LEGACY_KERAS": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "PATH": "", "PYTHONPATH": str(Path(tapetrace.__file__).parents[1])}
    arguments = [sys.executable, "-m", "tapetrace", "check", "train:model"]
    done = subprocess.run(arguments, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert f"Keras {keras.__version__}" in done.stdout
    assert "2 of 2 variables receive gradient      train.py:3" in done.stdout  # where it was compiled
