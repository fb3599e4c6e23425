"""Which output of a graph is the loss, and what the gradient is asked for: by the names that the user gives, or by what is plain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from tapetrace.capture import private
from tapetrace.capture.finished import Finished, Output
from tapetrace.capture.variables import describe_variable, is_variable
from tapetrace.errors import TraceFailed, UsageError

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user names: ``loss`` is the name or index of an output or the name of a tensor, ``variables`` are patterns of paths, or names."""

    loss: str | int | None = None
    variables: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.loss is not None or bool(self.variables)


NOTHING_NAMED = Asked()
"""The user leaves the choice to us."""


def choose_loss(finished: Finished, asked: str | int | None, name: str) -> tuple[tuple[Output, ...], str]:
    """The outputs that are differentiated, and a sentence when the choice was ours.

    Without a name: the only float scalar; else all float outputs together. Raises `UsageError` for a name that is no output and no float tensor,
    `TraceFailed` when there is nothing to choose from.
    """
    if asked is not None:
        return (_named_loss(finished, asked, name),), ""
    floats = [o for o in finished.outputs if private.is_trainable(o.tensor)]
    scalars = [o for o in floats if o.tensor.shape.rank == 0]
    if len(scalars) == 1:
        said = f"The output {scalars[0].name} was taken as loss: it is the only float scalar; --loss names another."
        return tuple(scalars), "" if finished.has_outputs and len(finished.outputs) == 1 else said
    if not floats:
        given = f" ({_listed(o.name for o in finished.outputs)})" if finished.outputs else ""
        raise TraceFailed(f"{name} has no float output{given} to take as loss: name a tensor with --loss")
    if not finished.has_outputs:
        ends = _listed(o.name for o in scalars or floats)
        raise TraceFailed(f"{name} does not say which tensor is the loss, name it with --loss: it ends in {ends}")
    if len(floats) == 1:
        return tuple(floats), ""
    taken = _listed(o.name for o in floats)
    return tuple(floats), f"No output is the only float scalar, so the sum of all was taken as loss ({taken}); --loss names one."


def choose_sources(finished: Finished, patterns: Sequence[str], name: str) -> list[Any]:
    """What the gradient is asked for: all trainable variables, or the variables, inputs and tensors that ``patterns`` name.

    Raises `UsageError` for a pattern that names nothing, `TraceFailed` when there is no trainable variable.
    """
    if not patterns:
        trainable = [v for v in finished.variables if getattr(v, "trainable", True)]
        if not trainable:
            known = _names(finished)
            has = f", it has {_listed(known)}" if known else ""
            raise TraceFailed(f"{name} has no trainable variable to ask for: name variables, inputs or tensors with --variables{has}")
        return trainable
    chosen: dict[int, Any] = {}
    for pattern in patterns:
        found = _matching(finished, pattern)
        if not found:
            raise UsageError(f"{name} has no variable, input or tensor named {pattern!r}{_near(pattern, _names(finished))}")
        chosen |= {id(value): value for value in found}
    return list(chosen.values())


def owned_variables(step: Any) -> list[Any]:
    """The trainable variables of the module or layer whose method ``step`` is, Keras variables where there are some."""
    listed = getattr(private.owner_of(step), "trainable_variables", ())
    return [v for v in listed if is_variable(v)] if isinstance(listed, (list, tuple)) else []


def _named_loss(finished: Finished, asked: str | int, name: str) -> Output:
    outputs = finished.outputs if finished.has_outputs else ()
    found = next((o for o in outputs if o.name == asked), None)
    if found is None and str(asked).isdigit():
        if int(asked) >= len(outputs):
            numbered = f"its outputs are {_listed(f'{i} {o.name}' for i, o in enumerate(outputs))}"
            raise UsageError(f"{name} has no output {asked}, {numbered if outputs else 'its outputs have no numbers, give a name'}")
        found = outputs[int(asked)]
    if found is None:
        tensor = _tensor(finished.graph, str(asked))
        found = None if tensor is None else Output(str(asked), tensor)
    if found is None:
        names = [o.name for o in outputs]
        raise UsageError(f"{name} has no output or tensor named {str(asked)!r}{_near(str(asked), [*names, *_op_names(finished.graph)])}")
    if not private.is_trainable(found.tensor) or found.tensor.dtype.name in ("resource", "variant"):
        floats = [o.name for o in outputs if private.is_trainable(o.tensor)]
        instead = f", its float outputs are {_listed(floats)}" if floats else ", name a float tensor"
        raise UsageError(f"{found.name} of {name} is {found.tensor.dtype.base_dtype.name} and has no gradient{instead}")
    return found


def _matching(finished: Finished, pattern: str) -> list[Any]:
    found = [v for v in finished.variables if any(fnmatchcase(text, pattern) for text in (_path(v), str(v.name)))]
    found += [i.tensor for i in finished.inputs if fnmatchcase(i.name, pattern)]
    if not found:
        tensor = _tensor(finished.graph, pattern)
        found = [] if tensor is None or tensor.dtype.name == "resource" else [tensor]
    return found


def _tensor(graph: Any, name: str) -> Any:
    """The tensor ``op:0``, or the first output of ``op``; None if there is none."""
    op, colon, index = name.rpartition(":")
    if not (colon and index.isdigit()):
        op, index = name, "0"
    try:
        outputs = graph.get_operation_by_name(op).outputs
    except (KeyError, ValueError):
        return None
    return outputs[int(index)] if int(index) < len(outputs) else None


def _op_names(graph: Any) -> list[str]:
    return [op.name for op in graph.get_operations() if op.outputs and private.is_trainable(op.outputs[0])]


def _names(finished: Finished) -> list[str]:
    return [_path(v) for v in finished.variables] + [i.name for i in finished.inputs]


def _path(variable: Any) -> str:
    return describe_variable(variable).path


def _near(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=3) or [k for k in known if name.lower() in k.lower()][:3]
    if near:
        return f", did you mean {' or '.join(near)}?"
    return f", it has {_listed(known)}" if known else ""


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:_SHOWN]) + (f", … {len(every) - _SHOWN} more" if len(every) > _SHOWN else "")
