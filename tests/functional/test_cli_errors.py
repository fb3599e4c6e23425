"""The command line from outside: exit codes, what is on which stream, and what is not imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tapetrace

ROOT = Path(tapetrace.__file__).parents[1]


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return child(folder, "-m", "tapetrace", *arguments, **environment)


def child(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TAPETRACE_", "KERAS_", "PYTEST_"))}
    variables = kept | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"} | environment
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=variables, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text("print('loud import')\n\ndef step(x):\n    return x\n\nBATCH = (1,)\n")
    (tmp_path / "broken.py").write_text("def f():\n    return 1 / 0\n\nf()\n")
    (tmp_path / "leaves.py").write_text("raise SystemExit(0)\n")
    return tmp_path


def test_help_imports_nothing_heavy(folder: Path) -> None:
    code = (
        "import sys, json\nfrom tapetrace.cli import main\n"
        "sys.argv = ['tapetrace', *json.loads(sys.argv[1])]\n"
        "heavy = ('tensorflow', 'keras', 'networkx', 'numpy')\n"
        "try: main()\nexcept SystemExit as e: print(e.code, *[m for m in heavy if m in sys.modules], file=sys.stderr)\n"
    )
    for arguments in (["--help"], ["check", "--help"], ["--version"]):
        done = child(folder, "-c", code, json.dumps(arguments))
        assert done.stderr == "0\n"
        assert "tapetrace" in done.stdout


def test_the_version(folder: Path) -> None:
    done = run(folder, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"tapetrace {tapetrace.__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "train.py"], "tapetrace: the target 'train.py' names no function, write it after a colon: train.py:train_step\n"),
        (["check", "nowhere.py:step"], "tapetrace: there is no file nowhere.py"),
        (["check", "trian:step"], "tapetrace: there is no module 'trian' here, did you mean train:step?\n"),
        (["check", "train:stp"], "tapetrace: train has no 'stp', did you mean step?\n"),
        (["check", "train:BATCH"], "tapetrace: train:BATCH is a tuple, name a function or a compiled Keras model instead, for example train:step\n"),
        (["check", "train:step", "--spec", "float32[8,x]"], "float32[8,x]\n            ^\n"),
        (["check", "train:step", "--spec", "int32", "--args", "train:BATCH"], "tapetrace: --spec and --args both give the arguments"),
        (["check", "train:step", "--mode", "graph", "--eager"], "tapetrace: --eager and --mode graph ask for two modes, use one of them\n"),
        (["check", "train:step", "-o", "fine.svg", "-o", "report.xyz"], "tapetrace: the suffix of 'report.xyz' names no format"),
        (["check", "train:step", "-o", "none/report.svg"], "tapetrace: none/report.svg cannot be written, there is no folder none: mkdir -p none\n"),
        (["check", "train:step", "--format", "xml"], "'xml' is not one of 'text', 'json'"),
        (["check"], "Missing argument"),
        (["chekc", "train:step"], "No such command 'chekc'"),
        ([], ""),
    ],
)
def test_no_answer_is_two_and_nothing_on_standard_output(folder: Path, arguments: list[str], words: str) -> None:
    done = run(folder, *arguments, COLUMNS="200", TERM="dumb")
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    if arguments:
        assert done.stdout == ""


def test_outputs_are_looked_at_before_the_users_module_is_imported(folder: Path) -> None:
    assert "loud import" not in run(folder, "check", "train:step", "-o", "report.xyz").stderr
    assert "loud import" in run(folder, "check", "train:stp").stderr


def test_their_traceback_comes_before_our_sentence(folder: Path) -> None:
    done = run(folder, "check", "broken:step")
    assert done.returncode == 2
    file = folder / "broken.py"
    lines = [line for line in done.stderr.splitlines() if not line.strip().startswith("~") and set(line.strip()) != {"^"}]
    assert lines[0] == "Traceback (most recent call last):"
    assert [line for line in lines if "File" in line] == [f'  File "{file}", line 4, in <module>', f'  File "{file}", line 2, in f']
    assert lines[-1] == f"tapetrace: broken cannot be imported: ZeroDivisionError: division by zero ({file}:2); mend that and try again"


def test_a_module_that_ends_the_process_does_not_look_connected(folder: Path) -> None:
    done = run(folder, "check", "leaves.py:step")
    assert done.returncode == 2
    assert "it calls sys.exit(0)" in done.stderr


@pytest.mark.parametrize("how", ["option", "variable"])
def test_debug_shows_the_whole_traceback(folder: Path, how: str) -> None:
    done = run(folder, "check", "trian:step", "--debug") if how == "option" else run(folder, "check", "trian:step", TAPETRACE_DEBUG="1")
    assert done.returncode == 2
    assert "TargetError: there is no module 'trian'" in done.stderr
    assert "tapetrace/importing.py" in done.stderr


def test_what_kept_the_old_standard_output_is_redirected_too(folder: Path) -> None:
    code = (
        "import sys\nfrom tapetrace.streams import output_to_stderr, put\nkept = sys.stdout\n"
        "kept.write('before ')\nwith output_to_stderr():\n    kept.write('inside')\nput('after')\n"
    )
    done = child(folder, "-c", code)
    assert (done.stdout, done.stderr) == ("before after\n", "inside")


def test_a_wrong_setting_names_its_place(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.tapetrace]\nformt = 'json'\n")
    done = run(folder, "check", "train:step")
    assert done.returncode == 2
    assert f"'formt' in [tool.tapetrace] of {folder}/pyproject.toml is not a setting, did you mean format?" in done.stderr
    done = run(folder, "check", "train:step", TAPETRACE_MODE="fast")
    assert "did you mean format?" in done.stderr


def test_keras_on_another_backend_is_named(folder: Path) -> None:
    done = run(folder, "check", "train:step", KERAS_BACKEND="jax")
    assert done.returncode == 2
    assert done.stderr.endswith("set KERAS_BACKEND=tensorflow\n")
    assert done.stdout == ""


def test_a_missing_tensorflow_is_said_before_their_import_fails(folder: Path) -> None:
    (folder / "train.py").write_text("import tensorflow\n")
    hide = "import importlib.util as u, sys\nreal = u.find_spec\nu.find_spec = lambda n, *a: None if n == 'tensorflow' else real(n, *a)\n"
    done = child(folder, "-c", hide + "sys.argv = ['tapetrace', 'check', 'train:step']\nfrom tapetrace.cli import main\nmain()")
    assert done.returncode == 2
    assert done.stderr.startswith("tapetrace: TensorFlow is not installed for this Python")
    assert done.stderr.endswith('install it with: pip install "tapetrace[tensorflow]"\n')
