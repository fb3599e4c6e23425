"""An eager run and the functions in it that make gradient calls of their own, as one Trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tapetrace.model.locations import Frame, Location
from tapetrace.model.trace import OtherVariable, Trace

if TYPE_CHECKING:
    from tapetrace.model.trace import Locate


def joined(eager: Trace, graphs: Trace, is_eager: Sequence[bool]) -> Trace:
    """``eager`` with the calls of ``graphs`` among its own; ``is_eager`` says of each call, in the order in which they were made, whose it is."""
    order = [[i for i, e in enumerate(is_eager) if e is kind] for kind in (True, False)]
    calls = sorted([*zip(order[0], eager.calls, strict=True), *zip(order[1], graphs.calls, strict=True)], key=lambda pair: pair[0])
    unused = [(order[k][c], s) for k, part in enumerate((eager, graphs)) for c, s in part.not_applied]
    return replace(
        eager,
        bodies={**graphs.bodies, **eager.bodies},
        calls=tuple(call for _, call in calls),
        variables=_merged((*eager.variables, *graphs.variables)),
        not_applied=tuple(sorted(unused)),
        locate=_locate_in(eager, graphs),
    )


def _merged(variables: Sequence[OtherVariable]) -> tuple[OtherVariable, ...]:
    """Each variable once, with all the places where it is read."""
    found: dict[tuple[str, str], OtherVariable] = {}
    for v in variables:
        known = found.get((v.name, v.path))
        found[v.name, v.path] = v if known is None else replace(known, refs=(*known.refs, *v.refs))
    return tuple(found.values())


def _locate_in(eager: Trace, graphs: Trace) -> Locate:
    def locate(body: str, position: int, inside: Frame | None = None) -> Location | None:
        return (eager if body in eager.bodies else graphs).locate(body, position, inside)

    return locate
