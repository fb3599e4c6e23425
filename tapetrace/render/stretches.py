"""The later folds: stretches of one status become one unit, until a panel fits its budget.

Each fold keeps breaks, and never puts two statuses into one unit. They are tried from the gentlest to the coarsest; the last ones always fit.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Iterator, Sequence

from tapetrace.model.graph import Status
from tapetrace.render.panels import Panel
from tapetrace.render.units import Partition

COMFORTABLE = 24
"""Boxes that can be taken in at a glance."""
COMFORTABLE_OPS = 60
"""The same where single ops are asked for: more do not fit on a screen, but whoever asks for ops wants to read them one by one."""
LONG_RUN = 4
"""The shortest run of boxes without a branch that is worth a fold."""
MOST_BREAKS = 12
"""Breaks side by side that are drawn one by one; the first in the ranking are."""
WIDEST = 16
"""Breaks side by side, whatever they stand between, above which those behind the first `MOST_BREAKS` become one: a row of more is too wide."""
SMALLEST_BUDGET = len(Status)
"""What the coarsest fold of one panel needs: a unit for each status."""


def fold_to_budget(panel: Panel, partition: Partition, budget: int, detail: str) -> Partition:
    """The gentlest fold with at most ``budget`` units (at least `SMALLEST_BUDGET`).

    Stretches are folded as soon as there are more than `COMFORTABLE` units (at the detail ``ops``, `COMFORTABLE_OPS`), if that can be done without
    touching what is near a break.
    """
    wanted = min(budget, COMFORTABLE_OPS if detail == "ops" else COMFORTABLE)
    if len(partition.units) <= wanted:
        return partition
    gentle = [partition]
    for folded in _gentle_folds(partition, wanted):
        gentle.append(folded)
        if len(folded.units) <= wanted:
            return fold_runs(folded, LONG_RUN, _lines(panel, folded))
    smallest = min(gentle, key=lambda p: len(p.units))
    if len(smallest.units) <= budget:
        return fold_runs(smallest, LONG_RUN, _lines(panel, smallest))
    for folded in _coarse_folds(panel, smallest):
        if len(folded.units) <= budget:
            return folded
    return _by_status(panel, smallest, together=True)


def fold_runs(partition: Partition, shortest: int, alike: Sequence[Hashable] = ()) -> Partition:
    """Each run of at least ``shortest`` units of one status without a branch becomes one; units next to a break or a target stay as they are.

    With ``alike``, a key for each unit, a run ends where the key changes.
    """
    units = partition.units
    before, after = partition.neighbours
    flow_in = [{a for a in s if not units[a].is_source} for s in before]
    flow_out = [{b for b in s if not units[b].is_source} for s in after]
    near = within_reach(partition, 1)
    fits = [not (u.is_source or u.is_break or u.is_target or i in near) for i, u in enumerate(units)]
    head: dict[int, int] = {}
    runs: dict[int, list[int]] = {}
    for i in range(len(units)):
        if not fits[i]:
            continue
        a = next(iter(flow_in[i])) if len(flow_in[i]) == 1 else -1
        joined = a >= 0 and fits[a] and flow_out[a] == {i} and units[a].status is units[i].status and a in head
        joined = joined and (not alike or alike[a] == alike[i])
        head[i] = head[a] if joined else i
        runs.setdefault(head[i], []).append(i)
    run_of = {i: h for h, run in runs.items() if len(run) >= shortest for i in run}
    keys = [("run", run_of[i]) if i in run_of else ("unit", i) for i in range(len(units))]
    return absorb_sources(partition.merged(keys), only_folded=True)


def fold_scopes(partition: Partition, depth: int, kept: set[int]) -> Partition:
    """Units that agree in the first ``depth`` levels of scope, and in status, become one, ``kept`` ones aside."""
    keys: list[Hashable] = []
    for i, u in enumerate(partition.units):
        plain = not (u.is_source or u.is_break or u.is_target or i in kept) and u.scope
        keys.append(("scope", "/".join(u.scope.split("/")[:depth]), u.status) if plain else ("unit", i))
    return absorb_sources(partition.merged(_reads_apart(partition, keys, kept)))


def fold_lines(partition: Partition, kept: set[int]) -> Partition:
    """Ops of one source line and status become one, ``kept`` ones aside."""
    keys: list[Hashable] = [
        ("line", u.line, u.status) if u.line and not (u.is_source or u.is_break or u.is_target or i in kept) else ("unit", i)
        for i, u in enumerate(partition.units)
    ]
    return absorb_sources(partition.merged(_reads_apart(partition, keys, kept)))


def fold_regions(partition: Partition, kept: set[int]) -> Partition:
    """Connected regions of one status become one, branches and all, ``kept`` units aside."""
    units = partition.units
    category: list[Hashable] = [("unit", i) if u.is_break or u.is_target or i in kept else u.status for i, u in enumerate(units)]
    phase = [0] * len(units)
    parent = list(range(len(units)))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    before, _ = partition.neighbours
    for b in range(len(units)):
        flow = [a for a in before[b] if not units[a].is_source]
        phase[b] = max((phase[a] + (category[a] != category[b]) for a in flow), default=0)
        for a in flow:
            if category[a] == category[b] and phase[a] == phase[b]:
                parent[root(a)] = root(b)
    keys = [("unit", i) if u.is_source else ("region", root(i)) for i, u in enumerate(units)]
    return absorb_sources(partition.merged(keys))


def _reads_apart(partition: Partition, keys: Sequence[Hashable], kept: set[int]) -> list[Hashable]:
    """The keys of a fold, but that what only reads a source, and may reshape it, for a unit that is ``kept`` goes together with no other."""
    units = partition.units
    before, after = partition.neighbours
    reads: set[int] = set()
    for i, u in enumerate(units):
        if not u.is_source and len(before[i]) <= 1 == len(after[i]) and all(units[a].is_source or a in reads for a in before[i]):
            reads.add(i)
    found = list(keys)
    for i in sorted(reads - kept, reverse=True):
        (reader,) = after[i]
        if reader in kept and not (units[reader].is_break or units[reader].is_target):
            found[i] = ("reads", reader, units[i].status)
        elif reader in reads - kept and found[reader] != keys[reader] and units[reader].status is units[i].status:
            found[i] = found[reader]
    return found


def absorb_sources(partition: Partition, only_folded: bool = False) -> Partition:
    """Sources whose only reader is a plain unit of their status become part of it; other sources with the same readers and status become one."""
    units = partition.units
    _, after = partition.neighbours
    keys: list[Hashable] = []
    for i, u in enumerate(units):
        readers = frozenset(after[i])
        if not u.is_source or u.is_break or not readers:
            keys.append(i)
            continue
        reader = next(iter(readers)) if len(readers) == 1 else -1
        into = reader >= 0 and not units[reader].is_break and units[reader].status is u.status
        if into and (not only_folded or units[reader].line is None):
            keys.append(reader)
        else:
            keys.append(i if only_folded else (readers, u.status))
    return partition.merged(keys)


def within_reach(partition: Partition, hops: int, but: Container[tuple[int, ...]] = ()) -> set[int]:
    """Units at most ``hops`` edges away from a break, those with the members ``but`` aside, and at most one from a target; with what these alone
    read."""
    before, after = partition.neighbours
    found: set[int] = {i for i, u in enumerate(partition.units) if u.is_break and u.members not in but}
    edge = found
    for _ in range(hops):
        edge = {n for i in edge for n in before[i] | after[i]} - found
        found = found | edge
    targets = {i for i, u in enumerate(partition.units) if u.is_target}
    near = found | targets | ({a for i in targets for a in before[i]} if hops else set())
    units = partition.units
    reads = (i for i in range(len(units)) if before[i] and after[i] and all(units[a].is_source for a in before[i]))
    return near | {i for i in reads if hops and after[i] <= near}


def fold_breaks(panel: Panel, partition: Partition) -> Partition:
    """Of many breaks between the same units, or of very many side by side, those behind the first `MOST_BREAKS` in the ranking become one."""
    before, after = partition.neighbours
    beside: dict[Hashable, list[int]] = {}
    for i, u in enumerate(partition.units):
        if u.is_break:
            beside.setdefault((frozenset(before[i]), frozenset(after[i])), []).append(i)
    alike, _ = _put_together(panel, partition, beside.values(), MOST_BREAKS)
    rows: dict[int, list[int]] = {}
    for i, depth in enumerate(_breaks_above(alike)):
        if alike.units[i].is_break:
            rows.setdefault(depth, []).append(i)
    narrow, together = _put_together(panel, alike, rows.values(), WIDEST)
    return _fold_beside(narrow, together) if together else alike


def _put_together(panel: Panel, partition: Partition, rows: Iterable[Sequence[int]], most: int) -> tuple[Partition, set[tuple[int, ...]]]:
    """The partition with the breaks behind the first `MOST_BREAKS` of each row put together if it holds more than ``most``; and their members."""
    keys: list[Hashable] = [("unit", i) for i in range(len(partition.units))]
    behind: set[int] = set()
    for n, row in enumerate(rows):
        ranked = sorted(row, key=lambda i: min(panel.nodes[m].number for m in partition.units[i].members))
        for i in ranked[MOST_BREAKS:] if len(row) > max(most, MOST_BREAKS + 1) else ():
            keys[i] = ("breaks", n)
            behind |= set(partition.units[i].members)
    merged = partition.merged(keys)
    return merged, {u.members for u in merged.units if behind.issuperset(u.members)}


def _breaks_above(partition: Partition) -> list[int]:
    """How many breaks come before each unit on the way that has most of them."""
    before, _ = partition.neighbours
    above: list[int] = []
    for i in range(len(partition.units)):
        above.append(max((above[a] + partition.units[a].is_break for a in before[i] if a < i), default=0))
    return above


def _fold_beside(partition: Partition, together: set[tuple[int, ...]]) -> Partition:
    """What stands around breaks that were put ``together``, and no other break, becomes one unit for each status on either side."""
    folded = fold_regions(partition, within_reach(partition, 1, together))
    _, after = folded.neighbours
    keys: list[Hashable] = []
    for i, u in enumerate(folded.units):
        only = next(iter(after[i])) if len(after[i]) == 1 else -1
        plain = not (u.is_break or u.is_target) and only >= 0 and folded.units[only].members in together
        keys.append(("into", only, u.is_source, u.status) if plain else i)
    return absorb_sources(folded.merged(keys))


def _lines(panel: Panel, partition: Partition) -> list[Hashable]:
    """The lines that each unit runs through: the same for blocks of a network that are built alike."""
    return [frozenset(at.key for m in u.members if (at := panel.nodes[m].location) is not None and not u.is_source) for u in partition.units]


def _gentle_folds(partition: Partition, wanted: int) -> Iterator[Partition]:
    """Folds that leave two steps around each break as they are."""
    lined = fold_lines(partition, within_reach(partition, 2))
    if len(lined.units) < len(partition.units):
        yield (partition := lined)
    yield (partition := fold_runs(partition, LONG_RUN))
    near = within_reach(partition, 2)
    for depth in range(max((u.scope.count("/") for u in partition.units), default=0), 0, -1):
        if len({"/".join(u.scope.split("/")[:depth]) for u in partition.units}) <= wanted:
            yield fold_scopes(partition, depth, near)
    yield fold_regions(partition, near)


def _coarse_folds(panel: Panel, partition: Partition) -> Iterator[Partition]:
    yield fold_regions(partition, within_reach(partition, 1))
    yield (regions := fold_regions(partition, set()))
    yield _by_status(panel, regions, together=False)


def _by_status(panel: Panel, partition: Partition, together: bool) -> Partition:
    """The coarsest folds: all units of one status are one, breaks by root cause or all ``together``; a loop of the program stays a loop here."""
    keys: list[Hashable] = []
    for u in partition.units:
        numbers = tuple(sorted({panel.nodes[m].number for m in u.members}))
        keys.append((u.status, numbers if u.is_break and not together else None))
    return partition.merged(keys, acyclic=False)
