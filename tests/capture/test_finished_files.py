"""Keras models from files, and files of every kind that are no graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import pytest

import tapetrace
from tapetrace.errors import TargetError
from tests.capture.finished_oracle import verdicts


@pytest.mark.filterwarnings("ignore:__array__ implementation doesn't accept a copy keyword:DeprecationWarning")  # Keras, when it saves
class TestKeras:
    @pytest.fixture
    def network(self) -> Any:
        return keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(3, name="first"), keras.layers.Dense(1, name="last")])

    def test_a_compiled_model(self, network: Any, tmp_path: Path) -> None:
        network.compile(optimizer="sgd", loss="mse")
        network.save(tmp_path / "net.keras")
        report = tapetrace.check(tmp_path / "net.keras", specs=["float32[2,4]", "float32[2,1]"])
        assert set(verdicts(report).values()) == {"connected"}
        assert report.calls[0].kind == "gradient"
        assert (report.agreement.checked, report.agreement.disagreed) == (4, ())

    def test_a_model_that_is_not_compiled(self, network: Any, tmp_path: Path) -> None:
        network.save(tmp_path / "net.keras")
        with pytest.raises(TargetError, match="is not compiled"):
            tapetrace.check(tmp_path / "net.keras")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.pb", b"", "empty.pb holds no op: write the graph again with tf.io.write_graph"),
        ("text.pb", b"a text\n" * 9, "text.pb is no GraphDef in binary form, or it is cut short"),
        ("text.pbtxt", b"a text\n" * 9, "text.pbtxt is no GraphDef as text, or it is cut short"),
        ("bytes.pbtxt", bytes(range(256)), "bytes.pbtxt is no GraphDef as text, or it is cut short"),
        ("text.keras", b"a text\n", "text.keras is no Keras model, or it is cut short: write it again with model.save"),
        ("model/saved_model.pb", b"", "model cannot be loaded as a SavedModel"),
        ("model/saved_model.pb", b"a text\n" * 9, "model cannot be loaded as a SavedModel"),
    ],
)
def test_files_that_are_no_graph(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    with pytest.raises(TargetError) as raised:
        tapetrace.check(file if file.name != "saved_model.pb" else file.parent)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)
