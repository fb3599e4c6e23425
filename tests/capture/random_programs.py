"""Small training steps made at random, as source text: ops, breaks, branches, loops, functions, tapes of all kinds."""

from __future__ import annotations

import random
from collections.abc import Callable

PRELUDE = """\
import numpy as np
import tensorflow as tf


@tf.custom_gradient
def straight_through(a):
    return tf.floor(a) + 0.7, lambda dy: dy


@tf.custom_gradient
def one_sided(a, b):
    return a * b, lambda dy: (dy * b, None)


def as_numpy(a):
    return np.sin(a)


def total(*gradients):
    return tf.add_n([tf.zeros([3])] + [tf.reduce_sum(g) * tf.ones([3]) for gs in gradients for g in gs if g is not None])

"""

SMOOTH = (
    "tf.sin({a})",
    "tf.tanh({a})",
    "tf.sigmoid({a})",
    "tf.nn.softplus({a})",
    "tf.square({a}) * 0.5",
    "tf.reverse({a}, [0])",
    "tf.identity({a})",
    "tf.reduce_sum({a}) * tf.ones([3])",
    "tf.cumsum({a})",
    "tf.gather({a}, [2, 0, 1])",
    "tf.reshape(tf.stack([{a}, {a}]), [2, 3])[0]",
    "tf.concat([{a}[1:], {a}[:1]], 0)",
    "straight_through({a})",
    "tf.map_fn(lambda e: tf.sin(e), {a})",
    "tf.exp(tf.tanh({a}))",
)
BINARY = (
    "{a} + {b}",
    "{a} * {b}",
    "tf.where(x > 0.1, {a}, {b})",
    "tf.add_n([{a}, {b}, {a}])",
    "tf.concat([{a}[:1], {b}[1:]], 0) + 0.1 * tf.reduce_sum({a} * {b})",
    "one_sided({a}, {b})",
    "tf.linalg.matvec({a}[:, None] + tf.eye(3), {b})",
    "tf.einsum('i,j->i', {a}, {b})",
    "tf.tensor_scatter_nd_update({a}, [[0]], {b}[:1]) + 0.1 * tf.reduce_sum({a} * {b})",
    "tf.cond(x[0] > 0.0, lambda: {a}, lambda: {b})",
)
BREAKS = (
    "tf.stop_gradient({a})",
    "tf.floor({a}) + 0.7",
    "tf.sign({a}) + 0.5",
    "tf.cast(tf.cast({a} * 5.0, tf.int32), tf.float32) + 0.3",
    "tf.one_hot(tf.argmax({a}), 3) + 0.2",
    "tf.ensure_shape(tf.numpy_function(as_numpy, [{a}], tf.float32), [3]) + 1.3",
    "tf.map_fn(lambda e: tf.stop_gradient(e) + 0.4, {a})",
    "tf.gather({b}, tf.argsort({a}))",
)
CONDITIONS = ("x[0] > 0.0", "x[0] < 0.0", "x[1] > 0.0", "tf.reduce_sum(x) > 0.0")


class Writer:
    """Writes one program. Every name holds a float32[3]; ``s`` is a variable that is written to."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names: list[str] = []
        self.variables = [f"w{i}" for i in range(self.random.randint(2, 4))]
        self.functions: list[str] = []
        self.tape = ""
        self.count = 0
        self.loops = 0

    def program(self) -> str:
        """The module's text: ``make()`` gives the step and its arguments."""
        self.write(1, "rng = np.random.default_rng(3)")
        for name in self.variables:
            trainable = self.random.random() < 0.9
            self.write(1, f"{name} = tf.Variable(rng.normal(size=3).astype('float32'), name='{name}', trainable={trainable})")
        self.write(1, "s = tf.Variable(tf.ones([3]) * 0.4, name='s')")
        for _ in range(self.random.randint(0, 2)):
            self.function()
        self.write(1, "")
        self.write(1, "def step(x):")
        self.names = ["x"]
        if self.random.random() < 0.3:
            self.statement(2, 0)
        self.random.choices((self.plain, self.in_a_function, self.in_a_branch, self.in_a_loop), (7, 1, 1, 1))[0]()
        self.write(1, "")
        self.write(1, "return step, (tf.constant([0.4, -0.6, 0.9]),)")
        return PRELUDE + "\ndef make():\n" + "\n".join(self.lines) + "\n"

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
        templates = SMOOTH if choice < 0.4 else BINARY if choice < 0.82 else BREAKS
        return self.random.choice(templates).format(a=self.pick(), b=self.pick())

    # Where the tape is opened and asked.

    def plain(self) -> None:
        self.write(2, f"return [{', '.join(self.tapes(2))}]")

    def in_a_function(self) -> None:
        self.write(2, "@tf.function")
        self.write(2, "def inner(x):")
        self.names = ["x"]  # Python takes a name that is given a value in a function for its own throughout
        self.write(3, f"return total({', '.join(self.tapes(3))})")
        self.write(2, "return inner(x)")

    def in_a_branch(self) -> None:
        self.write(2, "result = x")
        self.write(2, "if tf.reduce_sum(x) > -99.0:")
        self.write(3, f"result = total({', '.join(self.tapes(3))})")
        self.write(2, "return result")

    def in_a_loop(self) -> None:
        self.write(2, "result = x")
        self.write(2, "for _ in tf.range(2):")
        self.write(3, f"result = result * 0.3 + total({', '.join(self.tapes(3))})")
        self.write(2, "return result")

    def tapes(self, depth: int) -> list[str]:
        return self.random.choice((self.one_tape, self.one_tape, self.persistent_tape, self.nested_tapes))(depth)

    # Statements.

    def block(self, depth: int, level: int, count: int) -> None:
        for _ in range(count):
            self.statement(depth, level)

    def statement(self, depth: int, level: int) -> None:
        kinds: list[tuple[float, Callable[[int, int], None]]] = [(8, self.assign), (0.7, self.write_state)]
        if level < 2:
            kinds += [(1.2, self.branch), (0.8, self.loop)]
        if self.functions:
            kinds.append((1.5, self.call))
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
        # What a loop only overwrites is live as far as anybody knows who does not count its rounds.
        self.write(depth, f"{name} = {expression} + {name} * 0.3" if self.loops and name != "_" else f"{name} = {expression}")
        if not level and name not in self.names:
            self.names.append(name)

    def write_state(self, depth: int, level: int) -> None:
        self.write(
            depth, self.random.choice(("s.assign({a})", "s.assign_add({a} * 0.1)", "s.scatter_nd_update([[1]], {a}[:1])")).format(a=self.pick())
        )

    def branch(self, depth: int, level: int) -> None:
        self.write(depth, f"if {self.random.choice(CONDITIONS)}:")
        self.block(depth + 1, level + 1, self.random.randint(1, 2))
        if self.random.random() < 0.5:
            self.write(depth, "else:")
            self.block(depth + 1, level + 1, self.random.randint(1, 2))

    def loop(self, depth: int, level: int) -> None:
        self.write(depth, f"for _ in tf.range({self.random.randint(2, 3)}):")
        self.loops += 1
        self.block(depth + 1, level + 1, self.random.randint(1, 3))
        self.loops -= 1

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
            self.write(depth, f"{name} = {name} * 0.3 + {arguments}[{self.random.randint(0, 1)}]")
        else:
            self.write(depth, f"_ = {arguments}")

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

    # Gradient calls.

    def open(self, depth: int, persistent: bool = False) -> str:
        self.tape = self.fresh("tape")
        options = ["persistent=True"] if persistent else []
        if self.random.random() < 0.1:
            options.append("watch_accessed_variables=False")
        self.write(depth, f"with tf.GradientTape({', '.join(options)}) as {self.tape}:")
        if self.random.random() < 0.4:
            self.write(depth + 1, f"{self.tape}.watch({self.random.choice([*self.names, *self.variables])})")
        return self.tape

    def sources(self, besides: str) -> str:
        # TensorFlow answers ones or None for a target that it does not watch and that is a source as well, by whether other targets use it.
        pool = [n for n in (*self.variables, "s", *self.names) if n not in besides.split()]
        return ", ".join(self.random.sample(pool, self.random.randint(1, min(4, len(pool)))))

    def ask(self, depth: int, tape: str) -> str:
        result = self.fresh("g")
        targets = [self.names[-1]] if self.random.random() < 0.7 else [self.names[-1], self.random.choice(self.names)]
        target = targets[0] if len(targets) == 1 else f"[{', '.join(targets)}]"
        zero = ", unconnected_gradients='zero'" if self.random.random() < 0.1 else ""
        if self.random.random() < 0.1 and len(targets) == 1:
            self.write(depth, f"{result} = {tape}.jacobian({target}, [{self.sources(target)}]{zero})")
        else:
            besides = " ".join(targets) if len(targets) > 1 else ""
            self.write(depth, f"{result} = {tape}.gradient({target}, [{self.sources(besides)}]{zero})")
        return result

    def one_tape(self, depth: int) -> list[str]:
        tape = self.open(depth)
        self.write(depth + 1, self.start())
        self.block(depth + 1, 0, self.random.randint(2, 6))
        if self.random.random() < 0.15:
            self.tape = ""
            self.statement(depth, 0)
        return [self.ask(depth, tape)]

    def persistent_tape(self, depth: int) -> list[str]:
        tape = self.open(depth, persistent=True)
        self.write(depth + 1, self.start())
        self.block(depth + 1, 0, self.random.randint(2, 4))
        first = self.ask(depth, tape)
        self.tape = ""
        if self.random.random() < 0.5:
            self.write(depth, f"with {tape}:")
            self.block(depth + 1, 0, 2)
        return [first, self.ask(depth, tape)]

    def nested_tapes(self, depth: int) -> list[str]:
        outer = self.open(depth)
        self.write(depth + 1, self.start())
        self.block(depth + 1, 0, self.random.randint(1, 2))
        inner = self.open(depth + 1)
        self.block(depth + 2, 0, self.random.randint(1, 3))
        first = self.ask(depth + 1, inner)
        self.tape = outer
        total = self.fresh()
        self.write(depth + 1, f"{total} = tf.reduce_sum([tf.reduce_sum(tf.square(g)) for g in {first} if g is not None] + [0.0]) * tf.ones([3])")
        self.names.append(total)
        self.block(depth + 1, 0, self.random.randint(0, 1))
        return [first, self.ask(depth, outer)]

    def start(self) -> str:
        name, value = self.fresh(), self.pick()
        self.names.append(name)
        return f"{name} = {value} * 1.0"
