"""Which line of a statement a call stands on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapetrace.capture.statements import Statements

PROGRAM = """\
loss = (
    tf.random.normal(shape)
    + normal_loss(
        tf.round(x), tf.exp(a)
    )
    + tf.exp(b)
    + cut(lambda v: (
        tf.sin(v)
    ))
)
with tape(
    first(x)
) as t:
    first(
        second(x))
"""


@pytest.mark.parametrize(
    ("line", "function", "exported", "found"),
    [
        (1, "round", True, 4), (5, "round", True, 4), (1, "random_normal", True, 2), (1, "random_normal", False, 1), (1, "normal_loss", False, 3),
        (1, "normal_loss_of", True, 3), (1, "exp", True, 1), (6, "exp", True, 6), (1, "sin", True, 8), (1, "tanh", True, 1), (1, "", True, 1),
        (11, "first", False, 12), (14, "first", False, 14), (14, "second", False, 15), (99, "first", False, 99),
    ],
)  # fmt: skip
def test_the_line_of_a_call(tmp_path: Path, line: int, function: str, exported: bool, found: int) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    assert Statements().line_of(str(file), line, function, exported=exported) == found


OPERATORS = """\
y = (
    x
    > 2.0) & (
    1.0
    > x
) - x[
    -z[0]:]
z += x
y = [
    tf.exp(tf.exp(
        x)
    ), a.exp(
    x).exp(x),
    (lambda: tf.sin(x))(),
    tf.sin(x)
]
"""


@pytest.mark.parametrize(
    ("line", "function", "lines"),
    [
        (1, "<Gt>", (2,)), (1, "<Lt>", (4,)), (1, "<BitAnd>", (1,)), (1, "<Sub>", (3,)), (1, "<USub>", (7,)), (1, "<Subscript>", (7, 6)),
        (8, "<Add>", (8,)), (9, "exp", (10, 10, 12, 13)), (9, "sin", ()), (9, "tanh", ()),
    ],
)  # fmt: skip
def test_the_lines_of_calls_and_operators_in_their_order(tmp_path: Path, line: int, function: str, lines: tuple[int, ...]) -> None:
    file = tmp_path / "operators.py"
    file.write_text(OPERATORS)
    assert Statements().lines_of(str(file), line, function) == lines


CALLS = """\
grads = tape.gradient(
    loss,
    model.trainable_variables,
)
a, b = (
    d_tape.gradient(-d_loss, d), g_tape.gradient(g_loss, g),
    tape.gradient(target=tf.reduce_sum(loss), sources=g),
)
self.optimizer.minimize(
    lambda: loss(x, y), weights)
pick(tape).gradient(sum_of_the_squares(one_long_name, another_long_name), g)
(lambda a_long_name: a_long_name + another_long_name)(tape).gradient(x)
done = tape.gradient()
"""


@pytest.mark.parametrize(
    ("line", "function", "written"),
    [
        (1, "gradient", "tape.gradient(loss, …)"), (3, "gradient", "tape.gradient(loss, …)"), (1, "jacobian", ""),
        (5, "gradient", ""), (6, "gradient", ""), (7, "gradient", "tape.gradient(tf.reduce_sum(loss), …)"),
        (10, "minimize", "self.optimizer.minimize(lambda: loss(x, y), …)"), (11, "gradient", "pick(tape).gradient(…)"), (12, "gradient", ""),
        (13, "gradient", "tape.gradient(…)"),
    ],
)  # fmt: skip
def test_a_call_in_the_words_of_the_user(tmp_path: Path, line: int, function: str, written: str) -> None:
    file = tmp_path / "calls.py"
    file.write_text(CALLS)
    assert Statements().written(str(file), line, function) == written


def test_names_of_as_many_words_on_two_lines_say_nothing(tmp_path: Path) -> None:
    file = tmp_path / "two.py"
    file.write_text("y = (\n    tf.normal(x)\n    + tf.random(x)\n)\n")
    assert Statements().line_of(str(file), 1, "random_normal", exported=True) == 1


def test_a_long_sum_and_a_file_that_is_no_python(tmp_path: Path) -> None:
    file = tmp_path / "long.py"
    file.write_text("y = (x\n" + "+ 1\n" * 1_100 + "+ last(x))\n")
    assert Statements().line_of(str(file), 1, "last") == 1_102
    file = tmp_path / "broken.py"
    file.write_text("y = (\n")
    assert Statements().line_of(str(file), 1, "y") == 1
