"""The facts of a graph that was finished before: one call, made by nobody, of the gradient of its loss for its variables."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import tensorflow as tf

from tapetrace.capture.finished import Finished
from tapetrace.capture.finished_choice import Asked, choose_loss, choose_sources
from tapetrace.capture.finished_copy import quiet_import
from tapetrace.capture.garbage import without_collections
from tapetrace.capture.locations import Locator
from tapetrace.capture.recorder import CallRecord, Recorder
from tapetrace.capture.trace_step import describe_trace
from tapetrace.capture.variables import handle_of, is_variable
from tapetrace.model.trace import Tape, Trace, TraceError

NO_TAPE = "No tape was seen: these verdicts speak of the graph alone, not of where a tape was opened, stopped or reset."
NO_LINES = "The lines of code that made these ops are not in the file: breaks are named by their ops."


def trace_finished(finished: Finished, asked: Asked, *, target: str, locator: Locator, verify: bool) -> Trace:
    """What is needed to judge whether gradient reaches the variables of a finished graph from its loss.

    With ``verify`` TensorFlow is asked for the same gradients in a copy. Raises `UsageError` and `TraceFailed` as `choose_loss` and
    `choose_sources` do.
    """
    losses, chosen = choose_loss(finished, asked.loss, target)
    sources = choose_sources(finished, asked.variables, target)
    recorder = Recorder(locator, verify)
    draft = recorder.snapshots.take(finished.graph)
    targets = [o.tensor for o in losses]
    call = CallRecord(0, "graph", finished.graph, finished.graph, draft.key, len(draft.ops), targets, sources, Tape(), None, made=False)
    if verify:
        _ask_tensorflow(finished, call)
    with without_collections():
        trace = describe_trace(recorder, [call], None, target, None, finished.stack_of)
    named = tuple(replace(c, target_names=tuple(o.name for o in losses)) for c in trace.calls)
    notes = [NO_TAPE, *finished.notes, chosen]
    if finished.stack_of is None and not any(op.traceback for op in finished.graph.get_operations()):
        notes.append(NO_LINES)
    return replace(trace, calls=named, notes=(*trace.notes, *filter(None, notes)))


def _ask_tensorflow(finished: Finished, call: CallRecord) -> None:
    """Note in ``call`` what ``tf.gradients`` returns in a copy of the graph. A graph that cannot be copied is left unverified."""
    with without_collections(), warnings.catch_warnings(), quiet_import():
        warnings.simplefilter("ignore")
        try:
            copy = finished.copy()
            asked = [copy.tensor(t) for t in call.targets]
            of = _stand_ins(finished, call.sources)
            read = [i for i, t in enumerate(of) if t is not None]
            with copy.graph.as_default():
                found = tf.gradients(asked, [copy.tensor(of[i]) for i in read])
        except LookupError as error:
            call.error = TraceError("LookupError", str(error))
        except Exception:  # what TensorFlow cannot copy or differentiate is judged without it
            return
        else:
            call.gradients = [None] * len(of)
            for i, gradient in zip(read, found, strict=True):
                call.gradients[i] = gradient
        call.made = True


def _stand_ins(finished: Finished, sources: Sequence[Any]) -> list[Any]:
    """The tensor of the graph that stands for each source, None for a variable that it never mentions."""
    captured = {id(external): internal for external, internal in finished.graph.captures}
    found = []
    for source in sources:
        tensor = handle_of(source) if is_variable(source) else source
        if getattr(tensor, "graph", None) is not finished.graph:
            tensor = captured.get(id(tensor))
        found.append(tensor)
    return found
