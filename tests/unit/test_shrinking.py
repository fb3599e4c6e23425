"""Random programs that fail are made smaller without losing the fault, and without losing their ends."""

from __future__ import annotations

from tests.proof.shrinking import shrink

PROGRAM = """\
def unused(a):
    return a


def needed(a):
    b = a
    return b


def make():
    def step(x):
        with tf.GradientTape() as tape:
            n1 = tf.constant(0)
            while n1 < 3:
                v = tf.sin(x) + y
                n1 += 1
            u = needed(v)
        g = tape.gradient(u, [v, w, x])
    return step
"""


def test_what_the_fault_does_not_need_goes() -> None:
    small = shrink(PROGRAM, lambda text: all(t in text for t in ("def needed", "def make", "tape.gradient(u, [")))
    assert small == "def needed(a):\n    b = a\n    return b\ndef make():\n    g = tape.gradient(u, [x])\n"


def test_a_loop_keeps_its_counter() -> None:
    small = shrink(PROGRAM, lambda text: "while n1 < 3" in text)
    assert [line.strip() for line in small.splitlines()] == ["while n1 < 3:", "n1 += 1"]


def test_a_block_may_lose_its_header() -> None:
    assert shrink("if a:\n    b = c\n", lambda text: "b = c" in text) == "b = c\n"
