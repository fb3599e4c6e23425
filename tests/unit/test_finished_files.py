"""Which targets are files of finished graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapetrace.capture.finished_files import Storage, StoredGraph, stored_graph
from tapetrace.errors import TargetError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("saved", "text", "empty"):
        (tmp_path / name).mkdir()
    for file in ("saved/saved_model.pb", "text/saved_model.pbtxt", "graph.pb", "graph.pbtxt", "net.keras", "train.py", "odd:name.pb"):
        (tmp_path / file).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("text", "path", "storage", "signature"),
    [
        ("saved", "saved", Storage.SAVED_MODEL, ""),
        ("saved/", "saved", Storage.SAVED_MODEL, ""),
        ("text", "text", Storage.SAVED_MODEL, ""),
        ("saved:train", "saved", Storage.SAVED_MODEL, "train"),
        ("saved/saved_model.pb", "saved", Storage.SAVED_MODEL, ""),
        ("saved/saved_model.pb:train", "saved", Storage.SAVED_MODEL, "train"),
        ("graph.pb", "graph.pb", Storage.GRAPH_DEF, ""),
        ("graph.pbtxt", "graph.pbtxt", Storage.GRAPH_DEF, ""),
        ("odd:name.pb", "odd:name.pb", Storage.GRAPH_DEF, ""),
        ("net.keras", "net.keras", Storage.KERAS, ""),
    ],
)
def test_files(folder: Path, text: str, path: str, storage: Storage, signature: str) -> None:
    assert stored_graph(text) == StoredGraph(text, Path(path), storage, signature)


@pytest.mark.parametrize("text", ["train.py:step", "pkg.train:step", "empty:step", "pkg.pb:step", "train.py", "", ":", "saved:", ":x"])
def test_other_targets(folder: Path, text: str) -> None:
    assert stored_graph(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("empty", "the folder empty holds no saved_model.pb"),
        ("nowhere.pb", "there is no file nowhere.pb, the current folder is"),
        ("graph.pb:train", "graph.pb is a GraphDef, which has no 'train': give graph.pb alone"),
        ("net.keras:train", "net.keras is a Keras model, which has no 'train'"),
    ],
)
def test_refused(folder: Path, text: str, words: str) -> None:
    with pytest.raises(TargetError) as raised:
        stored_graph(text)
    assert str(raised.value).startswith(words)
