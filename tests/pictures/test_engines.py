"""Layout engines and picture files: whole or not at all, never longer than allowed, and always a sentence that says what to do."""

from __future__ import annotations

import os
import re
import stat
import sys
import time
import zlib
from pathlib import Path

import pytest

from tapetrace.errors import OutputError
from tapetrace.model.graph import Status
from tapetrace.render import engines, picture
from tapetrace.render.dot import scene_to_dot
from tapetrace.render.engines import LayoutTimeout, lay_out
from tapetrace.render.files import write_atomic
from tapetrace.render.pdf_finish import finish_pdf
from tapetrace.render.picture import picture_formats, write_picture
from tapetrace.render.scene import Kind, Scene, SceneNode
from tests.unit import drawings

STARTS = {".svg": b"<?xml", ".pdf": b"%PDF-", ".png": b"\x89PNG", ".dot": b"digraph"}


def files(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


@pytest.fixture
def no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines.shutil, "which", lambda name: None)
    monkeypatch.setattr(engines, "find_spec", lambda name: None)


@pytest.fixture
def fake_dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called ``dot``, first on PATH, whose Python code the test fills in."""
    path = tmp_path / "bin" / "dot"
    path.parent.mkdir()
    path.write_text("")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent), prepend=os.pathsep)
    return path


def fill(program: Path, code: str) -> None:
    program.write_text(f"#!{sys.executable}\n{code}\n")


@pytest.mark.parametrize("suffix", sorted(picture_formats))
def test_each_format_is_written_and_nothing_else(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    assert write_picture(drawings.vae(), path) == path
    assert path.read_bytes().startswith(STARTS[suffix])
    assert files(tmp_path) == {path.name}


def test_text_stays_text_in_the_svg(tmp_path: Path) -> None:
    text = write_picture(drawings.vae(), tmp_path / "out.svg").read_text(encoding="utf-8")
    assert re.search(r"<text [^>]*>rec, mu, lv = vae\(x, training=True\)</text>", text)
    assert 'xlink:title="/home/ann/samples/vae.py:33' in text


def test_the_time_limit_holds_for_the_bundled_engine() -> None:
    # A hundred nodes each bound to each: hours of crossing minimisation.
    dot = "digraph {" + "".join(f"{a} -> {b};" for a in range(150) for b in range(a)) + "}"
    start = time.monotonic()
    with pytest.raises(LayoutTimeout):
        lay_out(dot, "svg", time_limit=0.5)
    assert time.monotonic() - start < 10


def test_the_time_limit_holds_for_dot_on_path(fake_dot: Path) -> None:
    fill(fake_dot, "import time; time.sleep(60)")
    start = time.monotonic()
    with pytest.raises(LayoutTimeout):
        lay_out("digraph {}", "svg", time_limit=0.5)
    assert time.monotonic() - start < 10


def test_dot_on_path_comes_first(fake_dot: Path) -> None:
    fill(fake_dot, "import sys; print(sys.argv[1:], len(sys.stdin.read()))")
    assert lay_out("digraph {}", "png") == b"['-Tpng', '-Gdpi=144'] 10\n"


def test_a_slow_layout_is_folded_further_and_says_so(tmp_path: Path, fake_dot: Path) -> None:
    fill(fake_dot, "import sys, time; text = sys.stdin.read(); time.sleep(60 * (text.count('tooltip=') > 30)); print(text)")
    path = write_picture(drawings.vae(), tmp_path / "out.svg", detail="ops", time_limit=3)
    assert "folded to at most 12 boxes, since the layout of more took longer than 3 s" in path.read_text(encoding="utf-8")


def test_a_layout_that_never_ends_is_given_up_with_the_dot_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(dot: str, form: str, *, time_limit: float) -> bytes:
        raise LayoutTimeout

    monkeypatch.setattr(picture, "lay_out", never)
    with pytest.raises(OutputError, match="took longer than 1 s even with 12 boxes"):
        write_picture(drawings.vae(), tmp_path / "out.svg", time_limit=1)
    assert files(tmp_path) == {"out.dot"}


def test_without_engine_the_dot_is_written_and_the_old_picture_stays(tmp_path: Path, no_engine: None) -> None:
    path = tmp_path / "out.pdf"
    path.write_text("old")
    with pytest.raises(OutputError, match=r"out\.dot.*install Graphviz.*pip install 'tapetrace\[render\]'"):
        write_picture(drawings.vae(), path)
    assert path.read_text() == "old"
    assert (tmp_path / "out.dot").read_text(encoding="utf-8").startswith("digraph")
    assert files(tmp_path) == {"out.pdf", "out.dot"}


def test_an_engine_that_fails_is_quoted(fake_dot: Path) -> None:
    fill(fake_dot, "import sys; sys.exit('Format: \"svg\" not recognized')")
    with pytest.raises(OutputError, match='failed with exit code 1 and said: Format: "svg" not recognized'):
        lay_out("digraph {}", "svg")


def test_the_bundled_engine_does_not_import_from_the_users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pygraphviz.py").write_text("raise SystemExit('wrong module')")
    monkeypatch.chdir(tmp_path)
    assert lay_out("digraph {}", "svg").startswith(b"<?xml")


@pytest.mark.parametrize(
    ("name", "detail", "message"),
    [("out.jpeg", "line", r"end its name in \.dot, \.pdf, \.png, \.svg"), ("out.svg", "tensors", "choose one of line, ops, layers")],
)
def test_unknown_suffix_and_detail(tmp_path: Path, name: str, detail: str, message: str) -> None:
    with pytest.raises(OutputError, match=message):
        write_picture(drawings.vae(), tmp_path / name, detail=detail)
    assert files(tmp_path) == set()


def test_write_atomic_replaces_the_file_a_link_points_to_and_keeps_its_mode(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_atomic(link, b"new")
    assert real.read_bytes() == b"new"
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert files(tmp_path) == {"real", "link"}


def test_write_atomic_leaves_the_old_file_when_writing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    path.write_text("old")

    def full(name: str, to: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OutputError, match="No space left on device"):
        write_atomic(path, b"new")
    assert path.read_text() == "old"
    assert files(tmp_path) == {"out"}


@pytest.mark.parametrize("name", ["missing/out.svg", ".", "x" * 300, "nul\0l"])
def test_a_path_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match="cannot write"):
        write_atomic(tmp_path / name, b"new")
    assert files(tmp_path) == set()


def test_the_text_of_a_pdf_can_be_searched(tmp_path: Path) -> None:
    data = write_picture(drawings.vae(), tmp_path / "out.pdf").read_bytes()
    assert b"/ToUnicode" in data, "its letters are shapes without a meaning"


def test_a_pdf_has_a_title_and_no_ligature(tmp_path: Path) -> None:
    scene = Scene("first: flow", "affine", (SceneNode("n", Kind.OP, Status.LIVE, "first filter"),))
    drawn = lay_out(scene_to_dot(scene), "pdf")
    finished = finish_pdf(drawn, scene)
    assert finished.startswith(drawn), "the pages are as they were"
    objects = dict(re.findall(rb"(?<![0-9])([0-9]+) 0 obj\s(.*?)endobj", finished, re.DOTALL))  # the last of a number
    assert "tapetrace first: flow".encode("utf-16-be").hex().encode() in b"".join(objects.values())
    tables = [zlib.decompress(s) for s in re.findall(rb"/FlateDecode.*?stream\r?\n(.*?)\s*endstream", b"".join(objects.values()), re.DOTALL)]
    plain = b"".join(body for body in objects.values() if b"begincmap" in body)
    assert not re.search(rb"<fb0[0-6]>\s*\n", plain + b"".join(tables), re.IGNORECASE)
    for number, offset in re.findall(rb"\n([0-9]+) 1\n([0-9]{10}) 00000 n", finished):
        assert finished[int(offset) :].startswith(number + b" 0 obj")
    assert finish_pdf(b"%PDF-1.7 and nothing else", scene) == b"%PDF-1.7 and nothing else"


def test_a_device_is_written_to_directly() -> None:
    write_atomic(Path(os.devnull), b"new")
    assert not Path(os.devnull).is_file()
