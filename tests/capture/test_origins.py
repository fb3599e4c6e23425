"""Whose code a file is: by the place where it lies, by the roots that are the user's, and by what pip recorded of it."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from tapetrace.capture.origins import Origin, Origins
from tests.capture.stack_files import API, INSTALLED, MATH, OPS, OURS, TENSORFLOW, USER, WRAPPED


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


@pytest.mark.parametrize(
    ("file", "origin"),
    [
        (USER, Origin.USER),
        ("relative/train.py", Origin.USER),
        ("/tmp/ipykernel_77/123.py", Origin.USER),
        ("<ipython-input-3-abc>", Origin.USER),
        ("<stdin>", Origin.USER),
        ("<python-input-0>", Origin.USER),
        ("<string>", Origin.USER),
        ("<frozen importlib._bootstrap>", Origin.MACHINERY),
        ("<__array_function__ internals>", Origin.MACHINERY),
        ("/tmp/__autograph_generated_fileabc.py", Origin.MACHINERY),
        (sysconfig.get_path("stdlib") + "/contextlib.py", Origin.MACHINERY),
        (sysconfig.get_path("scripts") + "/pytest", Origin.MACHINERY),
        (INSTALLED + "/einops/einops.py", Origin.LIBRARY),
        ("/usr/lib/python3/dist-packages/einops.py", Origin.LIBRARY),
        (MATH, Origin.LIBRARY),
        (WRAPPED, Origin.WRAPPER),
        (OPS, Origin.MACHINERY),
        (str(OURS / "cli.py"), Origin.TAPETRACE),
    ],
)
def test_whose_code_a_file_is(file: str, origin: Origin) -> None:
    assert Origins().origin(file) is origin


def test_an_installed_package_of_the_user_is_the_users_unless_it_is_a_framework() -> None:
    installed = str(TENSORFLOW.parent)
    origins = Origins([f"{INSTALLED}/mine", installed])
    assert origins.origin(f"{INSTALLED}/mine/train.py") is Origin.USER
    assert origins.origin(f"{INSTALLED}/mine_too/train.py") is Origin.LIBRARY
    assert origins.origin(MATH) is Origin.LIBRARY
    assert origins.origin(API) is Origin.TAPETRACE


def test_a_root_may_be_a_file_or_hold_an_environment() -> None:
    origins = Origins([f"{INSTALLED}/one.py", "/home/me"])
    assert origins.origin(f"{INSTALLED}/one.py") is Origin.USER
    assert origins.origin("/home/me/.venv/lib/python3.11/site-packages/numpy/core.py") is Origin.LIBRARY


def test_a_link_to_an_installed_package_is_followed(tmp_path: Path) -> None:
    (tmp_path / "site-packages/lib").mkdir(parents=True)
    (tmp_path / "site-packages/lib/a.py").touch()
    (tmp_path / "linked").symlink_to(tmp_path / "site-packages/lib")
    assert Origins().origin(str(tmp_path / "linked/a.py")) is Origin.LIBRARY
    assert Origins([tmp_path / "linked"]).origin(str(tmp_path / "site-packages/lib/a.py")) is Origin.USER
