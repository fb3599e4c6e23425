"""Steps that raise at every moment, check inside check, users who patch TensorFlow: the process is as before, and so is their program."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.api import render_text
from tapetrace.capture.living import living
from tests.proof.hostile_steps import MAKERS, Step, W, X, broken, healthy
from tests.proof.process_state import differences, process_state

LONG = bool(os.environ.get("TAPETRACE_PROOF_LONG"))
"""Set it for every error in every way, steps of 100,000 ops and 5,000 variables."""

PACKAGE = str(Path(tapetrace.__file__).parent)


class Unheard(BaseException):
    """What no handler for known errors expects."""


ERRORS: tuple[type[BaseException], ...] = (ValueError, KeyboardInterrupt)
if LONG:
    ERRORS += (SystemExit, GeneratorExit, MemoryError, RecursionError, Unheard)

WAYS: dict[str, dict[str, Any]] = {"graph": {"mode": "graph"}, "eager": {"mode": "eager"}}
OTHER_WAYS: dict[str, dict[str, Any]] = {
    "auto": {},
    "numeric": {"numeric": True},
    "perturb": {"mode": "graph", "perturb": True},
    "compare modes": {"compare_modes": True},
    "quick": {"verify": False},
}
if LONG:
    WAYS |= OTHER_WAYS


@pytest.fixture(scope="module", autouse=True)
def _made_on_first_use() -> None:
    for options in (*WAYS.values(), *OTHER_WAYS.values()):
        tapetrace.check(healthy, X, **options)


@pytest.fixture
def blamed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Tracebacks that Python prints for errors which nobody catches, and in which tapetrace has the last word."""
    found: list[str] = []

    def look(error: Any) -> None:
        frames = traceback.extract_tb(error.exc_value.__traceback__)
        if frames and frames[-1].filename.startswith(PACKAGE):
            found.append("".join(traceback.format_exception(error.exc_value)))

    monkeypatch.setattr(sys, "unraisablehook", look)
    monkeypatch.setattr(threading, "excepthook", look)
    yield found
    assert found == []


def found_by(act: Callable[[], Any], kind: type[BaseException]) -> str:
    """What came of it: a report, a refusal in one sentence, or the very error of the step."""
    try:
        act()
    except tapetrace.TapetraceError as refused:
        return "refused" if "\n" not in str(refused) else f"more than a sentence: {refused}"
    except kind:
        return "raised"
    return "report"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", MAKERS, ids=[m.__name__ for m in MAKERS])
@pytest.mark.usefixtures("blamed")
def test_a_check_of_a_step_that_raises(make: Callable[[type[BaseException]], Step], way: str, capfd: pytest.CaptureFixture[str]) -> None:
    for kind in ERRORS:
        before = process_state()
        found = found_by(lambda kind=kind: tapetrace.check(make(kind), X, **WAYS[way]), kind)  # type: ignore[misc]
        assert found in ("report", "refused") or (found == "raised" and not issubclass(kind, Exception))
        assert differences(before, process_state()) == [], kind
    assert PACKAGE not in capfd.readouterr().err


@pytest.mark.parametrize("way", OTHER_WAYS)
@pytest.mark.usefixtures("blamed")
def test_each_option_with_a_step_that_raises(way: str) -> None:
    for make in (MAKERS[1], MAKERS[3], MAKERS[6], MAKERS[-1]):
        before = process_state()
        found_by(lambda make=make: tapetrace.check(make(KeyboardInterrupt), X, **OTHER_WAYS[way]), KeyboardInterrupt)  # type: ignore[misc]
        assert differences(before, process_state()) == [], make


@pytest.mark.parametrize("make", MAKERS, ids=[m.__name__ for m in MAKERS])
@pytest.mark.usefixtures("blamed")
def test_a_step_that_raises_while_it_is_watched(make: Callable[[type[BaseException]], Step]) -> None:
    for kind in ERRORS:
        step = make(kind)
        before = process_state()
        alone = outcome(step)
        middle = process_state()
        watching = tapetrace.watch()

        def run(watching: Any = watching, step: Step = step) -> None:
            with watching:
                step(X)

        assert outcome(lambda _, run=run: run()) == alone  # type: ignore[misc]
        with contextlib.suppress(tapetrace.TapetraceError):
            assert watching.report.calls
        own = differences(before, middle)  # what the step does to the process by itself
        assert [d for d in differences(middle, process_state()) if d not in own] == []


def outcome(step: Step) -> str:
    try:
        step(X)
    except BaseException as error:
        return f"{type(error).__name__}"
    return "came back"


# One inside another, and several at once.


def verdicts(report: Any) -> str:
    return " ".join(s.verdict.value for call in report.calls for s in call.sources)


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_a_check_inside_the_step_of_another(mode: str) -> None:
    inner: list[str] = []
    functions: list[str] = []

    def looking(x: Any) -> Any:
        functions.extend(frame.name for frame in traceback.extract_stack())
        return broken(x)

    def step(x: Any) -> Any:
        inner.append(verdicts(tapetrace.check(looking, X)))
        return healthy(x)

    before = process_state()
    assert verdicts(tapetrace.check(step, X, mode=mode)) == "connected"
    assert set(inner) == {"none"}
    assert differences(before, process_state()) == []
    assert "check" in functions
    assert "tf__check" not in functions  # what AutoGraph would have made of our own code


def test_a_check_inside_a_tape_and_inside_a_traced_function() -> None:
    found: list[str] = []

    @tf.function
    def traced(x: Any) -> Any:
        found.append(verdicts(tapetrace.check(broken, X, mode="graph")))
        return healthy(x)

    with tf.GradientTape() as tape:
        y = W * X
        found.append(verdicts(tapetrace.check(healthy, X, mode="eager")))
    assert np.array_equal(tape.gradient(y, W), X)
    assert np.array_equal(traced(X), X)
    assert found == ["connected", "none"]


def test_a_watch_inside_a_checked_step_and_inside_a_traced_function() -> None:
    seen: list[Any] = []

    def step(x: Any) -> Any:
        with tapetrace.watch() as watched:
            gradient = healthy(x)
        seen.append(watched)
        return gradient

    before = process_state()
    assert [verdicts(tapetrace.check(step, X, mode=m)) for m in ("graph", "eager")] == ["connected"] * 2
    seen.clear()
    assert np.array_equal(tf.function(step)(X), X)
    assert verdicts(seen[0].report) == "connected"
    assert differences(before, process_state()) == []


def test_nested_watches_and_a_check_inside() -> None:
    with tapetrace.watch() as outer:
        healthy(X)
        with tapetrace.watch() as inner:
            broken(X)
            assert verdicts(tapetrace.check(healthy, X, mode="graph")) == "connected"
    assert verdicts(inner.report) == "none"
    assert verdicts(outer.report) == "connected none"


def test_watches_that_overlap_in_two_threads() -> None:
    begun, both, ended = threading.Event(), threading.Event(), threading.Event()
    reports: dict[str, str] = {}
    before = process_state()

    def first() -> None:
        with tapetrace.watch() as watched:
            healthy(X)
            begun.set()
            both.wait(30)
            broken(X)
        reports["first"] = verdicts(watched.report)
        ended.set()

    def second() -> None:
        begun.wait(30)
        with tapetrace.watch() as watched:
            both.set()
            ended.wait(30)
        reports["second"] = verdicts(watched.report)

    threads = [threading.Thread(target=f) for f in (first, second)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert reports == {"first": "connected none", "second": "none"}
    assert differences(before, process_state()) == []


def test_checks_at_once_in_many_threads_and_a_thread_of_the_users() -> None:
    wrong: list[str] = []
    stop = threading.Event()
    before = process_state()

    def theirs() -> None:
        while not stop.is_set():
            try:
                assert len(tuple(i for i in range(300))) == 300
            except BaseException:  # SystemError, when somebody else holds the tuple that is being filled
                wrong.append(traceback.format_exc())

    def check(step: Step, expected: str) -> None:
        for mode in ("eager", "graph"):
            try:
                assert verdicts(tapetrace.check(step, X, mode=mode)) == expected
            except BaseException:
                wrong.append(traceback.format_exc())

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    user = threading.Thread(target=theirs)
    threads = [threading.Thread(target=check, args=a) for a in ((healthy, "connected"), (broken, "none"), (healthy, "connected"))]
    user.start()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    stop.set()
    user.join()
    sys.setswitchinterval(interval)
    assert wrong == []
    assert differences(before, process_state()) == []


def test_living_objects_are_found_without_touching_what_others_are_filling() -> None:
    class Kind:
        pass

    class Special(Kind):
        pass

    kept = [Kind(), Special(), Kind()]
    wrong: list[str] = []
    stop = threading.Event()

    def fill() -> None:
        while not stop.is_set():
            try:
                _ = tuple(i for i in range(200))
            except SystemError as error:
                wrong.append(str(error))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=fill) for _ in range(2)]
    for t in threads:
        t.start()
    found = [{id(o) for o in living(Kind)} for _ in range(12)]
    stop.set()
    for t in threads:
        t.join()
    sys.setswitchinterval(interval)
    assert found == [{id(o) for o in kept}] * 12
    assert wrong == []


def test_no_collection_begins_while_python_looks_who_refers_to_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """It moves the lists that Python walks, and ends the process."""
    original, enabled = gc.get_referrers, []

    def get_referrers(*objects: Any) -> list[Any]:
        enabled.append(gc.isenabled())
        return original(*objects)

    monkeypatch.setattr(gc, "get_referrers", get_referrers)
    kept = tf.Variable(1.0)
    assert any(v is kept for v in living(tf.Variable))
    assert (enabled, gc.isenabled()) == ([False], True)


# Users who patch TensorFlow themselves.


def test_a_users_patch_from_before_works_and_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    original, calls = tf.GradientTape.gradient, []

    def theirs(tape: Any, *args: Any, **kwargs: Any) -> Any:
        calls.append(tape)
        return original(tape, *args, **kwargs)

    monkeypatch.setattr(tf.GradientTape, "gradient", theirs)
    for mode in ("graph", "eager"):
        calls.clear()
        assert verdicts(tapetrace.check(broken, X, mode=mode)) == "none"
        assert calls
        assert tf.GradientTape.gradient is theirs
    with tapetrace.watch() as watched:
        broken(X)
    assert verdicts(watched.report) == "none"
    assert tf.GradientTape.gradient is theirs


@pytest.mark.parametrize("how", ["graph", "eager", "watch"])
def test_a_users_patch_from_meanwhile_stays_and_ours_rests(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf.GradientTape, "gradient", tf.GradientTape.gradient)  # put back at the end
    original, calls = tf.GradientTape.gradient, []

    def step(x: Any) -> Any:
        inner = tf.GradientTape.gradient

        def theirs(tape: Any, *args: Any, **kwargs: Any) -> Any:
            calls.append(tape)
            return inner(tape, *args, **kwargs)

        tf.GradientTape.gradient = theirs
        return broken(x)

    if how == "watch":
        with tapetrace.watch() as watched:
            step(X)
        report = watched.report
    else:
        report = tapetrace.check(step, X, mode=how)
    assert verdicts(report) == "none"
    assert tf.GradientTape.gradient is not original
    calls.clear()
    assert np.array_equal(healthy(X), X)
    assert np.array_equal(tf.function(healthy)(X), X)
    assert len(calls) >= 2  # an eager check runs the step more than once, and each time it patches once more
    assert verdicts(tapetrace.check(healthy, X, mode="graph")) == "connected"
    with tapetrace.watch() as again:
        broken(X)
    assert verdicts(again.report) == "none"
    assert tf.GradientTape.gradient is not original


def test_a_users_patch_between_a_watch_and_a_check_inside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tf.GradientTape, "gradient", tf.GradientTape.gradient)  # put back at the end
    calls: list[Any] = []
    with tapetrace.watch() as watched:
        inner = tf.GradientTape.gradient

        def theirs(tape: Any, *args: Any, **kwargs: Any) -> Any:
            calls.append(tape)
            return inner(tape, *args, **kwargs)

        tf.GradientTape.gradient = theirs
        for mode in ("graph", "eager"):
            assert verdicts(tapetrace.check(broken, X, mode=mode)) == "none"
            assert tf.GradientTape.gradient is theirs
        healthy(X)
    assert calls
    assert verdicts(watched.report) == "connected"
    assert tf.GradientTape.gradient is theirs


def test_another_threads_optimizer_works_while_a_quick_check_runs() -> None:
    w, optimizer = keras.Variable([1.0, 2.0]), keras.optimizers.SGD(0.5)
    optimizer.build([w])

    def step(x: Any) -> Any:
        thread = threading.Thread(target=lambda: optimizer.apply([tf.ones([2])], [w]))
        thread.start()
        thread.join()
        return healthy(x)

    assert tapetrace.check(step, X, mode="graph", verify=False).ok
    assert w.numpy().tolist() == [0.5, 1.5]


# Keras, recursion, size.


def test_callbacks_that_raise_and_callbacks_that_check() -> None:
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile("sgd", "mse")

    class Raises(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            raise ValueError("from the callback")

    class Checks(keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_begin(self, logs: Any = None) -> None:
            self.report = tapetrace.check(self.model, tf.ones([2, 3]), tf.ones([2, 2]))

    watched, raises, checks = tapetrace.watch(), Raises(), Checks()
    with pytest.raises(ValueError, match="from the callback"), watched:
        model.fit(tf.ones([2, 3]), tf.ones([2, 2]), verbose=0, callbacks=[raises])
    assert verdicts(watched.report) == "connected connected"
    assert watched.report.error is not None
    assert watched.report.error.type == "ValueError"
    model.train_function = None
    with tapetrace.watch() as again:
        model.fit(tf.ones([2, 3]), tf.ones([2, 2]), verbose=0, callbacks=[checks])
    assert (verdicts(checks.report), verdicts(again.report)) == ("connected connected",) * 2


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_recursion(mode: str) -> None:
    def deep(x: Any, n: int) -> Any:
        return W * x if n == 0 else deep(x, n - 1) + 0.1

    @tf.autograph.experimental.do_not_convert  # which takes long for so many levels
    def endless(x: Any) -> Any:
        return forever(x)

    def forever(x: Any) -> Any:
        return forever(x) * 2.0

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = deep(x, 40)
        return tape.gradient(y, W)

    assert verdicts(tapetrace.check(step, X, mode=mode)) == "connected"
    with pytest.raises(tapetrace.TapetraceError, match=r"RecursionError at .*test_hostile_steps.py:"):
        tapetrace.check(lambda x: endless(W * x), X, mode=mode)


def test_a_long_step() -> None:
    """100,000 ops in a row, with the environment variable for long tests. No recursion, and text within seconds."""
    count = 100_000 if LONG else 1_000

    @tf.autograph.experimental.do_not_convert
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = W * x
            for _ in range(count):
                y = tf.raw_ops.Neg(x=y)
            y = tf.round(y)
        return tape.gradient(y, W)

    began = time.monotonic()
    tf.function(step).get_concrete_function(X)
    bare = time.monotonic() - began
    began = time.monotonic()
    report = tapetrace.check(step, X, mode="graph")
    assert time.monotonic() - began < 10 + 6 * bare
    assert verdicts(report) == "none"
    began = time.monotonic()
    assert "gradient_is_none" in render_text(report)
    assert time.monotonic() - began < 5


def test_many_variables() -> None:
    """5,000 of them, with the environment variable for long tests."""
    count = 5_000 if LONG else 300
    variables = [tf.Variable(X) for _ in range(count)]

    @tf.autograph.experimental.do_not_convert
    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.add_n([tf.round(v) if i % 2 else v * x for i, v in enumerate(variables)])
        return tape.gradient(y, variables)

    report = tapetrace.check(step, X, mode="graph")
    assert verdicts(report) == " ".join("none" if i % 2 else "connected" for i in range(count))
    assert len(render_text(report)) < 2_000


SCRIPT = """
import atexit, threading
import tensorflow as tf

w = tf.Variable(2.0)


class Gone:
    def __del__(self):
        raise ValueError("in a destructor")


def step():
    with tf.GradientTape() as tape:
        y = w * w
    return tape.gradient(y, w)


def in_a_thread():
    step()
    raise ValueError("in a thread")


def last():
    step()
    raise ValueError("at exit")


atexit.register(last)
thread = threading.Thread(target=in_a_thread)
thread.start()
thread.join()
Gone()
print(float(step()))
raise KeyboardInterrupt
"""


def test_a_script_that_raises_everywhere_until_the_end(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TAPETRACE_", "PYTEST_"))} | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    env["PYTHONPATH"] = str(Path(PACKAGE).parent)
    done = subprocess.run(
        [sys.executable, "-m", "tapetrace", "run", "script.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 130
    assert done.stdout == "4.0\n"
    for moment in ("in a thread", "in a destructor", "at exit", "KeyboardInterrupt"):
        assert moment in done.stderr
    frames = [line for line in done.stderr.splitlines() if line.strip().startswith("File ")]
    assert [line for line in frames if PACKAGE in line] == []
    assert "interrupted" in done.stderr
