"""Ops that Keras itself calls have the place of the line that built the model, and Keras is as it was afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras.src.ops.node import Node

import tapetrace
from tapetrace.importing import import_file

pytestmark = pytest.mark.filterwarnings("ignore:Gradients do not exist for variables:UserWarning")

MODEL = """
import keras
from keras import layers

inputs = keras.Input((4,))


def head(x):
    x = layers.Dense(3, name="a")(x)
    return keras.ops.stop_gradient(x)


outputs = layers.Dense(1, name="b")(head(inputs))
model = keras.Model(inputs, outputs)
model.compile("sgd", "mse")
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "functional_model.py"
    path.write_text(MODEL)
    return path


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_an_op_of_a_functional_model_has_the_line_that_put_it_there(file: Path, mode: str) -> None:
    report = tapetrace.check(f"{file}:model", mode=mode)
    (cause,) = report.root_causes
    assert cause.location is not None
    assert (cause.location.frame.line, cause.location.frame.function) == (10, "head")
    assert cause.location.code == "return keras.ops.stop_gradient(x)"
    assert sorted(cause.blocks) == ["a/bias", "a/kernel"]
    assert report.calls[0].location is not None
    assert report.calls[0].location.code == 'model.compile("sgd", "mse")'


def test_keras_is_as_it_was(file: Path) -> None:
    def as_it_is() -> tuple[Any, ...]:
        return vars(keras.Operation)["__call__"], vars(Node)["__init__"], vars(keras.Model).get("train_step")

    before = as_it_is()
    assert not tapetrace.check(f"{file}:model").ok
    assert as_it_is() == before
    with tapetrace.watch():
        import_file(str(file), str(file)).model.fit(np.ones((2, 4)), np.ones((2, 1)), verbose=0)
        assert as_it_is() != before
    assert as_it_is() == before


def test_fit_under_watch(file: Path) -> None:
    with tapetrace.watch() as watched:
        import_file(str(file), str(file)).model.fit(np.ones((2, 4)), np.ones((2, 1)), verbose=0)
    (cause,) = watched.report.root_causes
    assert cause.location is not None
    assert (cause.location.frame.line, cause.location.frame.function) == (10, "head")
    assert Path(cause.location.called_from[0].file).name == Path(__file__).name


def test_an_output_without_a_loss_has_the_line_of_compile(tmp_path: Path) -> None:
    path = tmp_path / "two_outputs.py"
    ending = (
        'spare = layers.Dense(1, name="spare")(head(inputs))\nmodel = keras.Model(inputs, [outputs, spare])\nmodel.compile("sgd", ["mse", None])\n'
    )
    path.write_text(MODEL.replace("stop_gradient(x)", "relu(x)").split("model = ")[0].replace('name="a"', "") + ending)
    (cause,) = tapetrace.check(f"{path}:model").root_causes
    assert cause.location is not None
    assert cause.location.code == 'model.compile("sgd", ["mse", None])'


SUBCLASSED = """
import keras
from keras import layers


class Head(layers.Layer):
    def __init__(self):
        super().__init__()
        self.inner = layers.Dense(2, name="inner")

    def call(self, x):
        self.inner(x)
        return x


class Named(keras.Model):
    pass


inputs = keras.Input((4,))
model = Named(inputs, layers.Dense(1, name="b")(Head()(inputs)))
model.compile("sgd", "mse")
"""


def test_what_a_layer_drops_has_the_line_in_its_call(tmp_path: Path) -> None:
    path = tmp_path / "subclassed.py"
    path.write_text(SUBCLASSED)
    (cause,) = tapetrace.check(f"{path}:model").root_causes
    assert cause.location is not None
    assert cause.location.code == "self.inner(x)"


def test_an_output_of_a_functional_subclass_without_a_loss_has_the_line_of_compile(tmp_path: Path) -> None:
    path = tmp_path / "subclass.py"
    text = SUBCLASSED.replace('layers.Dense(1, name="b")(Head()(inputs))', "[layers.Dense(1)(inputs), layers.Dense(1)(inputs)]")
    path.write_text(text.replace('"mse"', '["mse", None]'))
    (cause,) = tapetrace.check(f"{path}:model").root_causes
    assert cause.location is not None
    assert cause.location.code == 'model.compile("sgd", ["mse", None])'
