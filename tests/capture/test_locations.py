"""Locations of ops and of exceptions in real programs that are traced."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import tensorflow as tf

from tapetrace.capture.locations import Locator
from tests.capture.stack_files import MATH, OURS

PROGRAM = """\
import keras
import tensorflow as tf


def helper(x):
    return tf.reduce_sum(x)  # helper


class Scale(keras.layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(3,), name="scale")

    def call(self, x):
        return tf.cosh(x * self.scale)  # layer


layer = Scale()


def step(x):
    y = layer(x)  # call of layer
    if tf.reduce_any(y > 0):  # if
        y = tf.exp(y)  # inside if
    for _ in tf.range(3):  # for
        y = tf.sin(y)  # inside for
    squares = [tf.square(v) for v in (y, y)]  # comprehension
    f = lambda v: tf.cos(v)  # lambda
    y = f(squares[0])  # call of lambda
    return helper(y)  # call of helper


def breaks(x):
    if tf.reduce_any(x > 0):
        x = deeper(x)  # call of deeper
    return x


def deeper(x):
    return tf.matmul(x, tf.zeros([5, 6, 7]))  # raises


def plain(x):
    return deeper(x)  # plain call of deeper
"""


# One file for all tests: AutoGraph converts functions with equal code once, and keeps the file that it saw first.
@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return load(tmp_path_factory.mktemp("program") / "program.py", PROGRAM)


def load(file: Path, text: str) -> ModuleType:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def called_by_tapetrace(function: Any, *args: Any) -> Any:
    """What ``function`` returns when a file of tapetrace calls it."""
    names: dict[str, Any] = {}
    exec(compile("def check(function, *args):\n    return function(*args)\n", str(OURS / "api.py"), "exec"), names)
    return names["check"](function, *args)


def line_of(comment: str) -> int:
    return next(n for n, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith(f"# {comment}"))


def traced(program: ModuleType) -> tf.Graph:
    graph: tf.Graph = called_by_tapetrace(tf.function(program.step).get_concrete_function, tf.TensorSpec([3])).graph
    return graph


def op_of_type(graph: tf.Graph, type_name: str) -> tf.Operation:
    bodies = [graph._get_function(name).graph for name in graph._functions]
    return next(op for g in (graph, *bodies) for op in g.get_operations() if op.type == type_name)


@pytest.mark.parametrize(
    ("type_name", "chain"),
    [
        ("Sum", [("helper", "helper"), ("call of helper", "step")]),
        ("Cosh", [("layer", "call"), ("call of layer", "step")]),
        ("Any", [("if", "step")]),
        ("Exp", [("inside if", "step"), ("if", "step")]),
        ("Sin", [("inside for", "step"), ("for", "step")]),
        ("StatelessWhile", [("for", "step")]),
        ("Square", [("comprehension", "step")]),
        ("Cos", [("lambda", "step"), ("call of lambda", "step")]),
    ],
)
def test_an_op_is_located_where_the_user_wrote_it(program: ModuleType, type_name: str, chain: list[tuple[str, str]]) -> None:
    location = Locator().locate(op_of_type(traced(program), type_name).traceback)
    assert location is not None
    frames = [location.frame, *location.called_from]
    assert [(f.line, f.function) for f in frames] == [(line_of(comment), function) for comment, function in chain]
    assert {f.file for f in frames} == {str(program.__file__)}
    assert location.code == PROGRAM.splitlines()[location.line - 1].strip()


OVER_LINES = """\
import tensorflow as tf


def helper(x):
    return tf.stop_gradient(x)


def step(x):
    return tf.reduce_sum(  # first
        tf.square(  # square
            tf.round(x)  # round
            - tf.cast(tf.argmax(x), tf.float32)  # argmax
        )
        + tf.random.normal(x.shape)  # normal
        + helper(  # helper
            tf.exp(x) * 2.0
        )
        + tf.exp(2.0 * x)
        + (lambda y: (
            tf.sin(y)  # sin
        ))(x)
    )
"""


@pytest.fixture(scope="module")
def over_lines(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return load(tmp_path_factory.mktemp("program") / "over_lines.py", OVER_LINES)


@pytest.mark.parametrize(
    ("type_name", "comment"),
    [
        ("Round", "round"), ("Cast", "argmax"), ("ArgMax", "argmax"), ("Square", "square"), ("Sum", "first"), ("RandomStandardNormal", "normal"),
        ("StopGradient", "helper"), ("Sin", "sin"),
    ],
)  # fmt: skip
def test_a_call_in_a_statement_over_several_lines(over_lines: ModuleType, type_name: str, comment: str) -> None:
    location = Locator().locate(op_of_type(traced(over_lines), type_name).traceback)
    assert location is not None
    assert any(frame.code.endswith(f"# {comment}") for frame in (location.frame, *location.called_from))


def test_what_tensorflow_made_before_the_step_belongs_to_no_line(program: ModuleType) -> None:
    assert Locator().locate(op_of_type(traced(program), "Placeholder").traceback) is None


def test_the_library_frame_is_the_one_worth_naming(program: ModuleType) -> None:
    location = Locator().locate(op_of_type(traced(program), "Sum").traceback)
    assert location is not None
    assert location.library is not None
    assert location.library.file == MATH
    assert location.library.function.startswith("reduce_sum")


def test_the_line_of_the_function_that_opened_the_tape(program: ModuleType) -> None:
    op = op_of_type(traced(program), "Cosh")
    location = Locator().locate_function(op.traceback, str(program.__file__), "step")
    assert location is not None
    assert (location.line, location.function, location.called_from) == (line_of("call of layer"), "step", ())
    assert location.library is not None


def test_another_function_falls_back_to_the_innermost_line(program: ModuleType) -> None:
    op = op_of_type(traced(program), "Cosh")
    locator = Locator()
    assert locator.locate_function(op.traceback, str(program.__file__), "elsewhere") == locator.locate(op.traceback)


def raised(function: Any, *args: Any) -> BaseException:
    with pytest.raises(Exception) as info:
        called_by_tapetrace(function, *args)
    return info.value


@pytest.mark.parametrize(("function", "caller"), [("breaks", "call of deeper"), ("plain", "plain call of deeper")])
def test_an_exception_inside_a_traced_function(program: ModuleType, function: str, caller: str) -> None:
    step = tf.function(getattr(program, function))
    error = raised(step.get_concrete_function, tf.TensorSpec([3]))
    location = Locator().locate_exception(error)
    assert location is not None
    assert (location.file, location.line, location.function) == (program.__file__, line_of("raises"), "deeper")
    assert [f.line for f in location.called_from] == [line_of(caller)]


def test_an_eager_exception_and_one_raised_from_it(program: ModuleType) -> None:
    error = raised(program.plain, tf.zeros([3]))
    location = Locator().locate_exception(error)
    assert location is not None
    assert (location.line, [f.line for f in location.called_from]) == (line_of("raises"), [line_of("plain call of deeper")])
    wrapped = RuntimeError("no stack of its own")
    wrapped.__cause__ = error
    assert Locator().locate_exception(wrapped) == location
    assert Locator().locate_exception(RuntimeError("nowhere")) is None


def test_a_syntax_error_is_located_in_the_file_that_it_names(tmp_path: Path) -> None:
    error = raised(load, tmp_path / "typo.py", "x = 1\nif x\n    y = 2\n")
    location = Locator().locate_exception(error)
    assert location is not None
    assert (location.file, location.line, location.code) == (str(tmp_path / "typo.py"), 2, "if x")
