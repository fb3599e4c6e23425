"""One random program under tapetrace and under TensorFlow alone, in a traced graph or an eager run, and where the two contradict each other."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import tensorflow as tf

import tapetrace
from tapetrace.model.words import Verdict
from tests.capture.eager_oracle import run_unwatched
from tests.capture.oracle import Truth, ask_tensorflow, contradictions

DRAWS = 6


def load(source: str, path: Path) -> Any:
    """The module of a program; in a file, since AutoGraph reads the source."""
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def complaints(source: str, path: Path, mode: str = "graph") -> list[str]:
    """What is wrong with the report on the program; empty when TensorFlow contradicts none of it, or cannot run the program itself."""
    module = load(source, path)
    step, args = module.make()
    truth_step, truth_args = module.make()
    try:
        report = tapetrace.check(step, *args, mode=mode)
    except tapetrace.TapetraceError as error:
        try:
            truth = _truth(truth_step, truth_args, mode)
        except Exception:  # TensorFlow itself fails on some programs, in a dozen ways
            return []
        return [] if truth.raised is not None else [f"refused: {error}"]
    try:
        truth = _truth(truth_step, truth_args, mode)
    except tf.errors.OpError:  # TensorFlow traces the program and cannot run it: what it returned while tracing is all there is
        return [*report.agreement.disagreed]
    except Exception as error:  # before the first gradient call, as for a loop under two tapes, whose backward pass is built at once
        said = [] if report.error is not None else [f"TensorFlow raised {type(error).__name__}, and the report does not say so"]
        return [*said, *report.agreement.disagreed]
    if "tf.gradients" in str(truth.raised):  # which TensorFlow does not have in an eager run
        return [] if report.error is not None and report.error.type == "RuntimeError" else ["tf.gradients raised, and the report does not say so"]
    found = contradictions(report, truth, may_vanish={Verdict.CONDITIONAL})
    if report.error is not None and truth.raised is None:
        found.append(str(report.error))
    return found


def _truth(step: Any, args: Any, mode: str) -> Truth:
    if mode == "eager":
        return run_unwatched(step, args)
    return ask_tensorflow(tf.autograph.to_graph(step), args, draws=DRAWS)  # converted in the same way as for the check, AutoGraph does it once
