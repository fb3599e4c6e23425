"""Several checks at once, and threads of the user that work meanwhile."""

from __future__ import annotations

import gc
import sys
import threading
import traceback
from typing import Any

import keras
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.capture.living import living
from tests.proof.hostile_steps import Step, X, broken, healthy
from tests.proof.process_state import differences, process_state
from tests.proof.ways import verdicts

pytestmark = pytest.mark.usefixtures("made_on_first_use")


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
