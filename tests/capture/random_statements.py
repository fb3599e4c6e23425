"""Statements of random programs: what a step computes, in branches, loops, functions, arrays and layers."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.capture.random_pieces import BINARY, BREAKS, CONDITIONS, ENDS_OF_ARRAYS, RARE_BREAKS, SMOOTH, WRITES

LAYER = "dense"

SCALES = (0.3, 0.3, 0.3, 0.5, 0.5, 1.0)
"""How long programs are, as a share of the longest: small ones cost a third, and what contradicts TensorFlow seldom takes many statements."""


class StatementWriter:
    """Writes lines. Every name holds a float32[3]; ``s`` is a variable that is written to."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.scale = self.random.choice(SCALES)
        self.lines: list[str] = []
        self.names: list[str] = []
        self.variables = [f"w{i}" for i in range(self.random.randint(2, 4))]
        self.own_pieces: list[str] = []
        """Expressions that only this program has the functions for."""
        self.functions: list[str] = []
        self.tape = ""
        self.count = 0
        self.loops = 0

    def write(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line if line else "")

    def fresh(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def pick(self) -> str:
        pool = self.names[-4:] * 2 + self.variables + ["s"]
        return self.random.choice(pool)

    def expression(self) -> str:
        choice = self.random.random()
        templates = SMOOTH if choice < 0.4 else BINARY if choice < 0.8 else BREAKS if choice < 0.97 else RARE_BREAKS
        if self.own_pieces and self.random.random() < 0.15:
            templates = tuple(self.own_pieces)
        return self.random.choice(templates).format(a=self.pick(), b=self.pick())

    def start(self) -> str:
        name, value = self.fresh(), self.pick()
        self.names.append(name)
        return f"{name} = {value} * 1.0"

    def block(self, depth: int, level: int, count: int) -> None:
        for _ in range(round(count * self.scale + 0.3) or 1):
            self.statement(depth, level)

    def statement(self, depth: int, level: int) -> None:
        kinds: list[tuple[float, Callable[[int, int], None]]] = [(8, self.assign), (0.7, self.write_state)]
        if level < (2 if self.scale == 1.0 else 1):
            kinds += [(1.2, self.branch), (0.8, self.loop), (0.4, self.while_loop), (0.3, self.python_loop)]
        if self.functions:
            kinds.append((1.5, self.call))
        if level == 0:
            kinds.append((0.5, self.array))
        if self.tape and level == 0:
            kinds += [(0.6, self.stopped), (0.15, self.reset), (0.5, self.watch)]
        weights = [w for w, _ in kinds]
        self.random.choices([k for _, k in kinds], weights)[0](depth, level)

    def assign(self, depth: int, level: int) -> None:
        expression = self.expression()
        own = [n for n in self.names if n != "x"]
        # Inside a branch or loop only names that exist may be given a value.
        name = self.random.choice(own) if own and (level or self.random.random() < 0.2) else self.fresh()
        if level and not own:
            name = "_"
        # What a loop only overwrites is live as far as anybody knows who does not count its rounds. Without a bound it grows until all is saturated.
        self.write(depth, f"{name} = squash({expression} + {name} * 0.3)" if self.loops and name != "_" else f"{name} = {expression}")
        if not level and name not in self.names:
            self.names.append(name)

    def write_state(self, depth: int, level: int) -> None:
        self.write(depth, self.random.choice(WRITES).format(a=self.pick()))

    def branch(self, depth: int, level: int) -> None:
        self.write(depth, f"if {self.random.choice(CONDITIONS)}:")
        self.block(depth + 1, level + 1, self.random.randint(1, 2))
        if self.random.random() < 0.5:
            self.write(depth, "else:")
            self.block(depth + 1, level + 1, self.random.randint(1, 2))

    def loop(self, depth: int, level: int) -> None:
        self.in_loop(depth, level, f"for _ in tf.range({self.random.randint(2, 3)}):")

    def python_loop(self, depth: int, level: int) -> None:
        self.in_loop(depth, level, "for _ in range(2):")

    def while_loop(self, depth: int, level: int) -> None:
        rounds = self.fresh("n")
        self.write(depth, f"{rounds} = tf.constant(0)")
        self.in_loop(depth, level, f"while {rounds} < 3:")
        self.write(depth + 1, f"{rounds} += 1")
        if self.random.random() < 0.3:
            self.write(depth + 1, f"if {self.random.choice(CONDITIONS)}:")
            self.write(depth + 2, "break")

    def in_loop(self, depth: int, level: int, header: str) -> None:
        self.write(depth, header)
        self.loops += 1
        self.block(depth + 1, level + 1, self.random.randint(1, 3))
        self.loops -= 1

    def array(self, depth: int, level: int) -> None:
        array, index, name = self.fresh("array"), self.fresh("i"), self.fresh()
        self.write(depth, f"{array} = tf.TensorArray(tf.float32, size=2, element_shape=[3], clear_after_read=False)")
        self.write(depth, f"for {index} in tf.range(2):")
        self.write(depth + 1, f"{array} = {array}.write({index}, {self.expression()})")
        self.write(depth, f"{name} = {self.random.choice(ENDS_OF_ARRAYS).format(t=array)}")
        self.names.append(name)

    def stopped(self, depth: int, level: int) -> None:
        self.write(depth, f"with {self.tape}.stop_recording():")
        self.assign(depth + 1, level)

    def reset(self, depth: int, level: int) -> None:
        self.write(depth, f"{self.tape}.reset()")

    def watch(self, depth: int, level: int) -> None:
        self.write(depth, f"{self.tape}.watch({self.random.choice(self.names)})")

    def call(self, depth: int, level: int) -> None:
        own = [n for n in self.names if n != "x"]
        arguments = f"{self.random.choice(self.functions)}({self.pick()} + 0.0, {self.pick()} + 0.0, x)"
        if not level:
            left, right = self.fresh(), self.fresh()
            self.write(depth, f"{left}, {right} = {arguments}")
            self.names += [left, right]
        elif own:
            name = self.random.choice(own)
            self.write(depth, f"{name} = squash({name} * 0.3 + {arguments}[{self.random.randint(0, 1)}])")
        else:
            self.write(depth, f"_ = {arguments}")

    # What stands before the step.

    def function(self) -> None:
        name = f"layer{len(self.functions)}"
        self.write(1, "")
        self.write(1, "@tf.function")
        self.write(1, f"def {name}(p, q, x):")
        self.names = ["p", "q"]
        self.write(2, "r = p * 0.5")
        self.names.append("r")
        self.block(2, 0, self.random.randint(1, 3))
        self.write(2, f"return {self.random.choice(self.names)}, {self.random.choice(self.names)}")
        self.functions.append(name)

    def custom_gradient(self) -> None:
        """A function with a gradient of its own that also reads a variable, for which it gives a gradient or none."""
        variable = self.random.choice(self.variables)
        of_variable = self.random.choice(("dy * 0.5", "None", "tf.zeros_like(dy)"))
        self.write(1, "")
        self.write(1, "@tf.custom_gradient")
        self.write(1, "def scaled(a):")
        self.write(2, "def backward(dy, variables=None):")
        self.write(3, f"return {self.random.choice(('dy * 2.0', 'None'))}, [{of_variable} for _ in variables or ()]")
        self.write(2, f"return a * {variable}, backward")
        self.own_pieces.append("scaled({a})")

    def layer(self) -> None:
        self.write(1, f"{LAYER} = tf.keras.layers.Dense(3, activation='tanh', kernel_initializer=tf.keras.initializers.RandomNormal(seed=1))")
        self.write(1, f"{LAYER}.build([None, 3])")
        self.own_pieces.append(LAYER + "({a}[None])[0]")
