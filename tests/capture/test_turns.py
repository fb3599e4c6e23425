"""A statement over several lines that calls one function, or applies one operator, on several of them: each break has the line of its own call."""

from __future__ import annotations

import importlib.util
from types import ModuleType
from typing import Any

import pytest
import tensorflow as tf

from tapetrace import check

PROGRAM = """\
import keras
import tensorflow as tf

a, b, c, d = (tf.Variable(tf.fill([3], i / 4.0), name=name) for i, name in enumerate("abcd"))
k = keras.Variable([0.5, 0.5, 0.5], name="k")
ones = tf.ones([3])


def quantized(x):
    return (
        tf.reduce_sum((tf.stop_gradient(a) - x) ** 2)  # a
        + tf.reduce_sum((x - tf.stop_gradient(b)) ** 2)  # b
        + tf.reduce_sum(tf.round(
            tf.stop_gradient(c)  # c
            * x))
        + tf.reduce_sum(d))


def compared(x):
    return tf.reduce_sum(
        tf.where(x > a, x, 0.0)  # a
        + tf.where(0.25 < b, x, 0.0)  # b
        + tf.cast((c < x)  # c
                  & (d > 0.5), tf.float32)  # d
        + tf.cast(k > 0.25, tf.float32))  # k


def computed(x):
    return (
        tf.reduce_sum(ones // a)  # a
        + tf.reduce_sum(b // x)  # b
        + tf.reduce_sum(
            k  # k
            // 2.0) - tf.reduce_sum(c) - tf.reduce_sum(d))


def stopped(u, v, w, x):
    return tf.reduce_sum(
        tf.stop_gradient(u) * x  # a
        + tf.stop_gradient(v) * x  # b
        + tf.stop_gradient(w) * x)  # c


def called_twice(x):
    return (stopped(a, b, c, x)
            + stopped(a, b, c, 2.0 * x) + tf.reduce_sum(d))


def repeated(x):
    loss = tf.reduce_sum(d)
    for _ in range(3):
        loss += stopped(a, b, c, x)
    return loss


@tf.autograph.experimental.do_not_convert
def as_it_is(x):
    loss = tf.reduce_sum(d)
    for _ in range(3):
        loss += tf.reduce_sum(
            tf.stop_gradient(a) * x  # a
            + tf.stop_gradient(b) * x  # b
            + tf.stop_gradient(c) * x)  # c
    return loss


def drawn(x):
    return sum(
        [tf.reduce_sum(tf.stop_gradient(v) * x) for v in (a, b, c)]
        + [tf.reduce_sum(tf.stop_gradient(d) * x)])
"""

STEPS = ("quantized", "compared", "computed", "called_twice", "repeated", "as_it_is")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    file = tmp_path_factory.mktemp("turns") / "turns_program.py"
    file.write_text(PROGRAM)
    spec = importlib.util.spec_from_file_location("turns_program", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lines_of(program: ModuleType, name: str, mode: str) -> dict[str, int]:
    """For each broken variable the line of its first break."""
    variables = {v: getattr(program, v) for v in "abcdk"}
    variables["k"] = variables["k"].value

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = getattr(program, name)(x)
        return tape.gradient(loss, variables)

    found = {}
    for letter, source in zip("abcdk", check(step, tf.ones([3]), mode=mode).calls[0].sources, strict=True):
        if source.breaks and source.breaks[0].cause.value != "never_read":
            location = source.breaks[0].location
            found[letter] = location.line if location is not None else 0
    return found


def marked(name: str) -> dict[str, int]:
    lines = PROGRAM.splitlines()
    first = lines.index(f"def {'stopped(u, v, w, x)' if name in ('called_twice', 'repeated') else f'{name}(x)'}:")
    last = next(i for i, line in enumerate([*lines[first:], ""], first) if not line)
    return {lines[i][-1]: i + 1 for i in range(first, last) if lines[i][-3:-1] == "# "}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_each_break_stands_on_the_line_of_its_call(program: ModuleType, name: str, mode: str) -> None:
    assert lines_of(program, name, mode) == marked(name)


def test_calls_that_are_made_several_times_are_not_told_apart(program: ModuleType) -> None:
    found = lines_of(program, "drawn", "graph")
    assert list(found) == list("abcd")
    assert len(set(found.values())) == 1
