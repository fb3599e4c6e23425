"""Small training steps made at random, as source text: ops, breaks, branches, loops, functions, arrays, layers, writes, and tapes of all kinds."""

from __future__ import annotations

from tests.capture.random_pieces import PRELUDE
from tests.capture.random_statements import LAYER, StatementWriter


class Writer(StatementWriter):
    """Writes one program: what stands before the step, the step, its tapes and what they are asked."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.more_sources: list[str] = []
        self.has_symbolic = False
        """Whether ``tf.gradients`` may be asked here: where the tape is not opened in a body of its own."""

    def program(self) -> str:
        """The module's text: ``make()`` gives the step and its arguments."""
        self.write(1, "rng = np.random.default_rng(3)")
        for name in self.variables:
            trainable = self.random.random() < 0.9
            self.write(1, f"{name} = tf.Variable(rng.normal(size=3).astype('float32'), name='{name}', trainable={trainable})")
        self.write(1, "s = tf.Variable(tf.ones([3]) * 0.4, name='s')")
        if self.random.random() < 0.15:
            self.layer()
            self.more_sources = [f"{LAYER}.kernel", f"{LAYER}.bias"]
        if self.random.random() < 0.2:
            self.custom_gradient()
        for _ in range(self.random.randint(0, round(2 * self.scale))):
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

    # Where the tape is opened and asked.

    def plain(self) -> None:
        self.has_symbolic = True
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
        kinds = (self.one_tape, self.persistent_tape, self.nested_tapes, self.two_tapes, self.one_after_another)
        return self.random.choices(kinds, (4, 2, 2, 1, 1))[0](depth)

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

    def sources(self, besides: str, more: bool = True) -> str:
        # TensorFlow answers ones or None for a target that it does not watch and that is a source as well, by whether other targets use it.
        pool = [n for n in (*self.variables, "s", *self.names, *(self.more_sources if more else ())) if n not in besides.split()]
        return ", ".join(self.random.sample(pool, self.random.randint(1, min(4, len(pool)))))

    def ask(self, depth: int, tape: str) -> str:
        result = self.fresh("g")
        targets = [self.names[-1]] if self.random.random() < 0.7 else [self.names[-1], self.random.choice(self.names)]
        target = targets[0] if len(targets) == 1 else f"[{', '.join(targets)}]"
        besides = " ".join(targets) if len(targets) > 1 else ""
        more = ", unconnected_gradients='zero'" if self.random.random() < 0.1 else ""
        kind = self.random.random()
        if kind < 0.1 and len(targets) == 1:
            self.write(depth, f"{result} = {tape}.jacobian({target}, [{self.sources(target)}]{more})")
        elif kind < 0.15 and self.has_symbolic:
            self.write(depth, f"{result} = tf.gradients({target}, [{self.sources(besides, more=False)}]{more})")
        else:
            if self.random.random() < 0.1:
                more += f", output_gradients={[[1.0, 0.5, 2.0]] * len(targets) if len(targets) > 1 else [1.0, 0.5, 2.0]}"
            self.write(depth, f"{result} = {tape}.gradient({target}, [{self.sources(besides)}]{more})")
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
        squares = f"tf.reduce_sum([tf.reduce_sum(tf.square(g)) for g in {first} if g is not None] + [0.3])"
        self.write(depth + 1, f"{total} = tf.asinh({squares}) * tf.ones([3])")  # without asinh, a tanh behind it may saturate
        self.names.append(total)
        self.block(depth + 1, 0, self.random.randint(0, 1))
        return [first, self.ask(depth, outer)]

    def two_tapes(self, depth: int) -> list[str]:
        """Two tapes over the same lines, as a GAN has them."""
        one, two = self.fresh("tape"), self.fresh("tape")
        self.write(depth, f"with tf.GradientTape() as {one}, tf.GradientTape() as {two}:")
        self.write(depth + 1, self.start())
        for tape in (one, two):
            self.tape = tape
            self.block(depth + 1, 0, self.random.randint(1, 2))
        self.tape = ""
        return [self.ask(depth, one), self.ask(depth, two)]

    def one_after_another(self, depth: int) -> list[str]:
        """What the first tape answers is computed with under the second, which did not see it made."""
        first = self.one_tape(depth)
        moved = self.fresh()
        self.write(depth, f"{moved} = {self.pick()} - 0.1 * total({first[0]})")
        self.names.append(moved)
        return first + self.one_tape(depth)
