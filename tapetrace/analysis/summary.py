"""A body as one node: what gradient does between each of its inputs and each of its outputs. Used where a body is not opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tapetrace.analysis.flat import Flat, Table, Tensor
from tapetrace.analysis.liveness import arrives, live_tensors, passes_registered, passes_zeros, raising_nodes, reach_back, reach_through_calls
from tapetrace.analysis.paths import breaks_on, find_live_paths, find_paths
from tapetrace.analysis.ways import NO_DATA, OPEN, Passage, Way
from tapetrace.model.trace import TensorSpec
from tapetrace.model.words import Cause


@dataclass(frozen=True, slots=True)
class Summary:
    """``table`` has a row for each input and then one for what each was written to before, and a column for each output and then for each variable
    that is written. ``reads``: the inputs whose variable is read as it came in. ``written``: (input, whether what was there before may survive)."""

    table: Table
    outputs: tuple[TensorSpec, ...]
    reads: tuple[int, ...]
    written: tuple[tuple[int, bool], ...]

    @classmethod
    def of(
        cls, flat: Flat, inputs: Sequence[Tensor], before: Mapping[int, Tensor], outputs: Sequence[Tensor], writes: Mapping[int, frozenset[Tensor]]
    ) -> Summary:
        """``before[i]`` stands for what the variable of input ``i`` held before, ``writes[i]`` are the writes it is left with."""
        written = [i for i in sorted(before) if writes[i] != {before[i]}]
        ends = [[t] for t in outputs] + [sorted(writes[i] - {before[i]}) for i in written]
        rows = [*inputs, *(before.get(i, (-1, 0)) for i in range(len(inputs)))]
        columns = [_column(flat, end, rows) for end in ends]
        table = tuple(tuple(column[r] for column in columns) for r in range(len(rows)))
        reads = tuple(i for i in sorted(before) if any(way.passage is not Passage.NO_DATA for way in table[len(inputs) + i]))
        return cls(table, tuple(flat.nodes[n].outputs[j] for n, j in outputs), reads, tuple((i, before[i] in writes[i]) for i in written))


def _column(flat: Flat, end: list[Tensor], rows: Sequence[Tensor]) -> list[Way]:
    live, paths = live_tensors(flat, end), find_paths(flat, end)
    zeros, registered = reach_through_calls(flat, end, passes_zeros), reach_back(flat, end, passes_registered)
    raises = bool(raising_nodes(flat, reach_through_calls(flat, end, arrives)))
    column = []
    for t in rows:
        if t in live.possible:
            way = OPEN if t in live.always else Way(Passage.OPEN, depends=True)
        elif t in live.maybe_opaque:
            opaque = (s.way.cause for s in find_live_paths(flat, end, live).steps(t) if s.way.passage is Passage.OPAQUE)
            way = Way(Passage.OPAQUE, next(opaque))
        elif t not in paths.cost:
            way = NO_DATA
        elif t in registered:
            way = Way(Passage.CLOSED, Cause.NO_GRADIENT_REGISTERED, if_registered=True)
        else:
            first = breaks_on(paths.steps(t))[0].way
            way = first if first.passage in (Passage.CARRIED, Passage.INDEX) else Way(Passage.CLOSED, first.cause)
        column.append(replace(way, is_zero=t in zeros and way.passage is not Passage.OPEN, raises=raises))
    return column
