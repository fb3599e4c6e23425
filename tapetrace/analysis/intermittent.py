"""Sources that one trace of a line connects and another does not."""

from __future__ import annotations

from collections.abc import Sequence

from tapetrace.model.report import CallResult, Intermittent, SourceResult


def find_intermittent(calls: Sequence[CallResult], traces: Sequence[int]) -> tuple[Intermittent, ...]:
    """For each source of each line that asks for gradients: in which calls it is broken, if in others it is not.

    ``traces`` says of each call which trace or execution it belongs to. A line that asks more than once in one of them asks different things.
    """
    lines: dict[tuple[str, tuple[str, int]], list[int]] = {}
    for i, call in enumerate(calls):
        if call.location is not None:
            lines.setdefault((call.kind, call.location.key), []).append(i)
    found = []
    for indices in lines.values():
        if len({traces[i] for i in indices}) < len(indices):
            continue
        states: dict[tuple[str, int], dict[int, bool]] = {}
        names: dict[tuple[str, int], SourceResult] = {}
        for i in indices:
            seen: dict[str, int] = {}
            for source in calls[i].sources:
                label = source.label
                seen[label] = seen.get(label, 0) + 1  # bare tf.Variables often share a name
                states.setdefault((label, seen[label]), {})[i] = source.is_broken
                names[label, seen[label]] = source
        for key, broken_in in states.items():
            if len(set(broken_in.values())) > 1:
                connected = tuple(i for i, broken in broken_in.items() if not broken)
                broken = tuple(i for i, is_broken in broken_in.items() if is_broken)
                found.append(Intermittent(names[key].name, names[key].path, connected, broken, calls[indices[0]].location))
    return tuple(found)


def name_differences(described: Sequence[tuple[tuple[str, tuple[str, int] | None], dict[str, str]]]) -> list[str]:
    """For each call, given as (kind, line) and what it was traced with: what tells it from the other calls of its line, empty if it is alone."""
    lines: dict[tuple[str, tuple[str, int] | None], list[int]] = {}
    for i, (line, _) in enumerate(described):
        lines.setdefault(line, []).append(i)
    texts = [""] * len(described)
    for indices in lines.values():
        if len(indices) == 1:
            continue
        labels = dict.fromkeys(label for i in indices for label in described[i][1])
        differing = [label for label in labels if len({described[i][1].get(label) for i in indices}) > 1]
        for i in indices:
            texts[i] = ", ".join(f"{label}={described[i][1][label]}" for label in differing if label in described[i][1])
    return texts
