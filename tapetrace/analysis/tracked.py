"""What a tape tracked: the watched variables and tensors, and everything recorded that was computed from them."""

from __future__ import annotations

from tapetrace.analysis.flat import Flat, Tensor
from tapetrace.analysis.ways import Passage
from tapetrace.model.trace import GradientCall, Recording
from tapetrace.model.words import Cause


def tracked_tensors(flat: Flat, call: GradientCall) -> set[Tensor] | None:
    """The tensors on the tape; None when there is no tape and everything counts (``tf.gradients``)."""
    if call.watched is None:
        return None
    start: dict[Tensor, int] = {}
    for ref, order in call.watched:
        t = flat.tensor(call.body, ref)
        if t is not None:
            start[t] = order
    tracked: set[Tensor] = set(start)
    stack = list(start)
    while stack:
        t = stack.pop()
        since = start.get(t, 0)
        for n, i in flat.consumers.get(t, ()):
            node = flat.nodes[n]
            if node.order < since or node.recording is not Recording.RECORDED:
                continue
            for j in range(len(node.outputs)):
                if (n, j) not in tracked and not _never_recorded(node.way(i, j).passage, node.way(i, j).cause):
                    tracked.add((n, j))
                    stack.append((n, j))
    return tracked


def _never_recorded(passage: Passage, cause: Cause | None) -> bool:
    """Whether the tape does not record the op on account of this input: it is no float, or the dependence is not one that a tape sees."""
    return passage is Passage.CARRIED or cause in (Cause.VARIABLE_WRITE, Cause.CAPTURED_VALUE)
