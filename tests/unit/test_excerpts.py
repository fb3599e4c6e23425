"""Lines around a place: from the file as it is, and never from a file that is not the one the report is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapetrace.model.locations import Frame
from tapetrace.render.excerpts import excerpt

CODE = "import f\n\n\ndef step(x):\n    y = f(x)\n\n    z = g(y)\n    return z\n\n\nstep(1)\n"


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "train.py"
    path.write_text(CODE, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("line", "code", "around", "expected"),
    [
        (7, "z = g(y)", 1, [(7, "z = g(y)"), (8, "return z")]),
        (7, "z = g(y)", 2, [(5, "y = f(x)"), (6, ""), (7, "z = g(y)"), (8, "return z")]),
        (5, "y = f(x)", 9, [(4, "def step(x):"), (5, "    y = f(x)"), (6, ""), (7, "    z = g(y)"), (8, "    return z")]),
        (1, "import f", 9, [(1, "import f")]),
        (11, "step(1)", 9, [(11, "step(1)")]),
        (7, "z = changed(y)", 1, [(7, "z = changed(y)")]),
        (99, "z = g(y)", 1, [(99, "z = g(y)")]),
        (0, "z = g(y)", 1, [(0, "z = g(y)")]),
        (7, "", 1, []),
    ],
)
def test_excerpt(file: str, line: int, code: str, around: int, expected: list[tuple[int, str]]) -> None:
    assert excerpt(Frame(file, line, "step", code), around) == expected


def test_other_files_give_the_line_that_the_report_holds(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(CODE, encoding="utf-8")
    binary = tmp_path / "binary.py"
    binary.write_bytes(b"\xff\xfe\x00" * 10)
    for name in (str(secret), str(binary), str(tmp_path), "/dev/zero", "nul\0.py", "missing.py"):
        assert excerpt(Frame(name, 7, "step", "z = g(y)")) == [(7, "z = g(y)")]


def test_a_file_that_changed_is_read_again(file: str) -> None:
    assert len(excerpt(Frame(file, 7, "step", "z = g(y)"))) > 1
    Path(file).write_text("a = 1\nb = 22\n", encoding="utf-8")
    assert excerpt(Frame(file, 2, "step", "b = 22")) == [(1, "a = 1"), (2, "b = 22")]
