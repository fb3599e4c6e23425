"""Targets and arguments: what is found, what is imported once, and the sentence when there is no such thing. No TensorFlow."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tapetrace.errors import TapetraceError, TargetError, UsageError
from tapetrace.importing import UserCodeRaised
from tapetrace.targets import Target, argument_sets, load_arguments, load_target

STEP = """\
import sys
import neighbour

imported = sys.argv

class Trainer:
    def step(self, x):
        return x

trainer = Trainer()
BATCH = [1, 2]

def train_step(x):
    return neighbour.double(x)

def make_batch():
    return BATCH
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project as the current directory; what is imported from it is forgotten afterwards."""
    write(tmp_path, "flat_step.py", STEP)
    write(tmp_path, "neighbour.py", "def double(x):\n    return 2 * x\n")
    write(tmp_path, "scripts/loose.py", "import beside\nstep = beside.step\nbatch = (7,)\n")
    write(tmp_path, "scripts/beside.py", "def step(x):\n    return x\n")
    write(tmp_path, "mypkg/__init__.py", "")
    write(tmp_path, "mypkg/train.py", "from .parts import step as train_step\ntoken = object()\n")
    write(tmp_path, "mypkg/parts.py", "def step(x):\n    return x\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def test_a_function_of_a_module(folder: Path) -> None:
    target = load_target("flat_step:train_step")
    assert (target.text, target.module_name, target.file, target.attribute) == (
        "flat_step:train_step",
        "flat_step",
        str(folder / "flat_step.py"),
        "train_step",
    )
    assert target.value(4) == 8


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("flat_step.py:train_step", "flat_step"),
        ("./flat_step.py:train_step", "flat_step"),
        ("flat_step:trainer.step", "flat_step"),
        ("scripts/loose.py:step", "loose"),
        ("scripts.beside:step", "scripts.beside"),
        ("mypkg.train:train_step", "mypkg.train"),
        ("mypkg/train.py:train_step", "mypkg.train"),
    ],
)
def test_ways_to_name_a_function(text: str, module: str) -> None:
    target = load_target(text)
    assert target.module_name == module
    assert target.value(5) in (5, 10)


def test_an_absolute_path_and_another_current_directory(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert load_target(f"{folder}/scripts/loose.py:step").value(3) == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("flat_step:train_step", "flat_step.py:train_step"),
        ("flat_step.py:train_step", "flat_step:train_step"),
        ("scripts/loose.py:step", "scripts/../scripts/loose.py:step"),
        ("mypkg/train.py:train_step", "mypkg.train:train_step"),
        ("mypkg.train:train_step", "mypkg/train.py:train_step"),
    ],
)
def test_a_module_is_imported_once(first: str, second: str) -> None:
    assert load_target(first).value is load_target(second).value


def test_arguments_come_from_the_same_module_as_the_step() -> None:
    target = load_target("scripts/loose.py:step")
    args, _ = load_arguments("scripts/loose.py:batch")
    assert args is sys.modules[target.module_name].batch


def test_a_file_named_like_a_standard_module_does_not_replace_it(folder: Path) -> None:
    import colorsys

    write(folder, "scripts/colorsys.py", "def step(x):\n    return x + 1\n")
    assert load_target("scripts/colorsys.py:step").value(1) == 2
    assert sys.modules["colorsys"] is colorsys


def test_a_package_of_the_same_name_elsewhere_is_not_taken_for_it(folder: Path) -> None:
    write(folder, "other/mypkg/__init__.py", "")
    write(folder, "other/mypkg/train.py", "def train_step(x):\n    return 'other'\n")
    load_target("mypkg/train.py:train_step")
    assert load_target("other/mypkg/train.py:train_step").value(1) == "other"


def test_a_module_that_reads_its_command_line_sees_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["tapetrace", "check", "--spec", "x"])
    load_target("flat_step:train_step")
    assert sys.modules["flat_step"].imported == ["flat_step"]
    assert sys.argv == ["tapetrace", "check", "--spec", "x"]


@pytest.mark.parametrize(
    ("module", "file", "root"),
    [
        ("train", "/p/train.py", "/p/train.py"),
        ("pkg", "/p/pkg/__init__.py", "/p/pkg"),
        ("pkg.train", "/p/pkg/train.py", "/p/pkg"),
        ("pkg.sub", "/p/pkg/sub/__init__.py", "/p/pkg"),
        ("pkg.sub.train", "/p/pkg/sub/train.py", "/p/pkg"),
        ("pkg", None, None),
    ],
)
def test_what_is_the_users_own(module: str, file: str | None, root: str | None) -> None:
    assert Target("t", module, file, "f", None).user_root == root


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("flat_step.py", UsageError, "names no function, write it after a colon: flat_step.py:train_step"),
        ("", UsageError, "write it after a colon: pkg.train:train_step"),
        ("C:\\me\\train.py", UsageError, "write it after a colon: C:\\me\\train.py:train_step"),
        ("C:\\me\\train.py:step", TargetError, "there is no file C:\\me\\train.py"),
        (":step", UsageError, "names no module"),
        ("flat_step:", UsageError, "is not the name of a function, write for example flat_step:train_step"),
        ("flat_step.py::train_step", UsageError, "has two colons, write one: flat_step.py:train_step"),
        ("flat_step.py:36", UsageError, "'36' in the target 'flat_step.py:36' is not the name of a function"),
        ("flat_step:train step", UsageError, "is not the name of a function"),
        ("flat-step:step", TargetError, "neither the name of a module nor a .py file"),
        ("flat_steps:step", TargetError, "there is no module 'flat_steps' here, did you mean flat_step:step?"),
        ("beside:step", TargetError, "there is no module 'beside' here, did you mean scripts/beside.py:step?"),
        ("mypkg.trian:train_step", TargetError, "there is no module 'mypkg.trian' here, did you mean mypkg.train:train_step?"),
        ("mypkg.train.deep:f", TargetError, "there is no module 'mypkg.train.deep' here"),
        ("qqqq:step", TargetError, "give its path: path/qqqq.py:step"),
        ("loose.py:step", TargetError, "there is no file loose.py, did you mean scripts/loose.py:step?"),
        ("scripts/lose.py:step", TargetError, "did you mean scripts/loose.py:step?"),
        ("nowhere/qqqq.py:step", TargetError, "there is no file nowhere/qqqq.py, the current folder is "),
        ("scripts/:step", TargetError, "is a folder, name a .py file in it"),
        ("flat_step:trian_step", TargetError, "flat_step has no 'trian_step', did you mean train_step?"),
        ("flat_step:zzz", TargetError, "flat_step has no 'zzz', its functions are train_step, make_batch"),
        ("flat_step:trainer.stepp", TargetError, "flat_step.trainer has no 'stepp', did you mean step?"),
        ("json:zzz", TargetError, "json/__init__.py) has no 'zzz'"),
        (
            "flat_step:BATCH",
            TargetError,
            "flat_step:BATCH is a list, name a function or a compiled Keras model instead, for example flat_step:train_step",
        ),
        ("flat_step:Trainer", TargetError, "flat_step:Trainer is the class Trainer, name a function"),
        ("flat_step:neighbour", TargetError, "flat_step:neighbour is the module neighbour, name a function"),
    ],
)
def test_one_sentence_when_there_is_no_such_target(text: str, kind: type[TapetraceError], words: str) -> None:
    with pytest.raises(TapetraceError) as caught:
        load_target(text)
    assert type(caught.value) is kind
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_notebook_is_sent_to_a_cell(folder: Path) -> None:
    write(folder, "nb.ipynb", "{}")
    with pytest.raises(TargetError, match=r"call tapetrace\.check\(step, \.\.\.\) in a cell"):
        load_target("nb.ipynb:step")


@pytest.mark.parametrize("text", ["bad:step", "bad.py:step"])
@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("import neighbour\n1 / 0\n", "ZeroDivisionError: division by zero ({file}:2)"),
        ("import neighbour\nneighbour.double()\n", "TypeError: double() missing 1 required positional argument: 'x' ({file}:2)"),
        ("import not_there_at_all\n", "ModuleNotFoundError: No module named 'not_there_at_all' ({file}:1)"),
        ("x = 1\nif x\n", "SyntaxError: expected ':' ({file}:2)"),
        ("import sys\nsys.exit(0)\n", "it calls sys.exit(0) ({file}:2), put that under `if __name__ == '__main__':`"),
        ("raise KeyboardInterrupt\n", "it was interrupted ({file}:1)"),
        ("raise ValueError('first\\nsecond')\n", "ValueError: first ({file}:1)"),
    ],
)
def test_an_import_that_raises_shows_their_traceback_alone(folder: Path, text: str, source: str, words: str) -> None:
    file = write(folder, "bad.py", source)
    with pytest.raises(UserCodeRaised) as caught:
        load_target(text)
    message, trace = str(caught.value), caught.value.user_traceback
    assert message == f"{text.partition(':')[0]} cannot be imported: {words.format(file=file)}; mend that and try again"
    assert str(file) in trace
    assert "importlib" not in trace
    assert "contextlib" not in trace
    assert "tapetrace/" not in trace
    assert "bad" not in sys.modules


def test_the_frames_of_a_chained_error_are_cut_too(folder: Path) -> None:
    write(folder, "inner.py", "raise OSError\n")
    write(
        folder,
        "bad.py",
        "import importlib\ntry:\n    importlib.import_module('inner')\nexcept OSError as error:\n    raise RuntimeError from error\n",
    )
    with pytest.raises(UserCodeRaised) as caught:
        load_target("bad:step")
    assert [line.strip().split(",")[0] for line in caught.value.user_traceback.splitlines() if "File" in line] == [
        f'File "{folder}/bad.py"',
        f'File "{folder}/inner.py"',
        f'File "{folder}/bad.py"',
    ]


def test_a_package_that_misses_its_own_module_shows_where(folder: Path) -> None:
    write(folder, "lacking/__init__.py", "import lacking.gone\n")
    with pytest.raises(UserCodeRaised, match=r"No module named 'lacking\.gone' \(.*__init__\.py:1\)"):
        load_target("lacking.gone:step")


class Dataset:
    """Looks like a tf.data.Dataset from outside."""

    element_spec = None

    def __init__(self, *elements: object) -> None:
        self.elements = elements

    def __iter__(self) -> Iterator[object]:
        return iter(self.elements)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = (1, 2)", [((1, 2), {})]),
        ("a = [1, 2]", [((1, 2), {})]),
        ("a = {'x': 1}", [((), {"x": 1})]),
        ("a = {0: 1}", [(({0: 1},), {})]),
        ("a = 5", [((5,), {})]),
        ("a = 'text'", [(("text",), {})]),
        ("a = ()", [((), {})]),
        ("def a(): return (1, 2)", [((1, 2), {})]),
        ("def a(): return {'x': 1}", [((), {"x": 1})]),
        ("def a(n=3): return n", [((3,), {})]),
        ("def a():\n yield 1, 2\n yield 3, 4", [((1, 2), {}), ((3, 4), {})]),
        ("def a():\n yield {'x': 1}\n yield [1, 2]", [(({"x": 1},), {}), (([1, 2],), {})]),
        ("a = iter([(1,)])", [((1,), {})]),
        ("from tests_dataset import Dataset\na = Dataset((1, 2), (3, 4))", [((1, 2), {}), ((3, 4), {})]),
        ("from tests_dataset import Dataset\ndef a(): return Dataset(9)", [((9,), {})]),
    ],
)
def test_arguments(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str, expected: list[tuple[tuple[object, ...], dict[str, object]]]) -> None:
    monkeypatch.setitem(sys.modules, "tests_dataset", sys.modules[__name__])
    write(folder, "data.py", source + "\n")
    assert list(argument_sets("data:a")) == expected
    del sys.modules["data"]
    assert load_arguments("data.py:a") == expected[0]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("a = None", "data:a gives None"),
        ("def a(): pass", "data:a gives None, let it return the arguments of the step as a tuple or a dict"),
        ("def a(n): return n", "cannot be called without arguments (missing a required argument: 'n')"),
        ("def a(): return 1 / 0", "data:a failed when it was called for the arguments: ZeroDivisionError: division by zero ("),
        ("def a():\n raise SystemExit(3)", "data:a failed when it was called for the arguments: it calls sys.exit(3) ("),
        ("def a():\n yield 1 / 0", "data:a failed when it was asked for a batch: ZeroDivisionError: division by zero ("),
        ("a = iter([])", "data:a gives no arguments: it is empty"),
        ("class a: pass", "data:a is the class a"),
        ("b = 1", "data has no 'a'"),
    ],
)
def test_one_sentence_when_there_are_no_arguments(folder: Path, source: str, words: str) -> None:
    write(folder, "data.py", source + "\n")
    with pytest.raises(TargetError) as caught:
        load_arguments("data:a")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_arguments_without_a_colon_say_so() -> None:
    with pytest.raises(UsageError, match="the --args 'flat_step' names no function"):
        load_arguments("flat_step")
