"""Whose code a file is, for packages that were installed somewhere else than in an environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapetrace.capture.origins import Origin, Origins


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a user's program into which ``pip install --target`` has put a package and a module, and ``pip install -e`` another."""
    (tmp_path / "losses-1.0.dist-info").mkdir()
    (tmp_path / "losses-1.0.dist-info/RECORD").write_text("losses/focal.py,sha256=0,7\nlone.py,,\nlosses-1.0.dist-info/RECORD,,\n")
    (tmp_path / "mine.egg-info").mkdir()
    (tmp_path / "mine.egg-info/top_level.txt").write_text("mine\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_what_pip_recorded_in_a_folder_of_the_user_is_a_librarys(project: Path) -> None:
    origin = Origins([project]).origin
    assert [origin(str(project / name)) for name in ("losses/focal.py", "lone.py")] == [Origin.LIBRARY] * 2
    assert [origin(str(project / name)) for name in ("train.py", "mine/step.py", "lone/step.py")] == [Origin.USER] * 3


def test_a_recorded_package_that_is_asked_about_is_the_users(project: Path) -> None:
    assert Origins([project / "losses"]).origin(str(project / "losses/focal.py")) is Origin.USER
    assert Origins().origin(str(project / "losses/focal.py")) is Origin.LIBRARY
