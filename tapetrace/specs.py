"""A spec describes an argument without its values: ``float32[8,28,28,1]``, ``int64[?,10]``, ``labels=int32[8]``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from tapetrace.errors import UsageError

DTYPES = (
    *("float16", "float32", "float64", "bfloat16"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("bool", "string", "complex64", "complex128"),
)
"""Names of TensorFlow's dtypes that a step can be given."""

_MEANT = {"float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64", "str": "string", "bytes": "string"}
_HEAD = re.compile(r"\s*(?:(?P<name>[^\W\d]\w*)\s*=\s*)?(?P<dtype>\w*)")
_UNKNOWN_SIZE = ("?", "None")
_UNKNOWN_RANK = ("...", "…")
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Spec:
    """Dtype name and shape of one argument; ``name`` is the keyword it is passed by, empty for a positional one.

    ``shape`` is ``()`` for a scalar and None for an unknown rank; an element is None for an unknown size.
    """

    dtype: str
    shape: tuple[int | None, ...] | None = ()
    name: str = ""

    def __str__(self) -> str:
        keyword = f"{self.name}=" if self.name else ""
        if self.shape is None:
            return f"{keyword}{self.dtype}[...]"
        return f"{keyword}{self.dtype}[{','.join('?' if n is None else str(n) for n in self.shape)}]"


def parse_spec(text: str) -> Spec:
    """The spec that ``text`` describes.

    ``?`` is an unknown size, ``[...]`` an unknown rank, ``float32`` and ``float32[]`` a scalar, ``name=…`` an argument passed by keyword.
    Raises `UsageError`, whose message ends with a caret under the character that cannot be read.

    >>> parse_spec("float32[8,?,1]")
    Spec(dtype='float32', shape=(8, None, 1), name='')
    """
    match = _HEAD.match(text)
    assert match is not None  # every part of the pattern may be empty
    dtype, at = match["dtype"], match.start("dtype")
    if dtype not in DTYPES:
        raise _error(text, at, _dtype_advice(dtype))
    return Spec(dtype, _parse_shape(text, match.end()), match["name"] or "")


def _dtype_advice(word: str) -> str:
    if not word:
        return "a dtype is missing here, for example float32"
    if word in _MEANT:
        return f"{word!r} is not a dtype of TensorFlow, write {_MEANT[word]}"
    near = get_close_matches(word, DTYPES, n=1, cutoff=0.75)
    return f"{word!r} is not a dtype, " + (f"did you mean {near[0]}?" if near else f"write one of {', '.join(DTYPES)}")


def _parse_shape(text: str, at: int) -> tuple[int | None, ...] | None:
    at = _skip_spaces(text, at)
    if at == len(text):
        return ()
    if text[at] != "[":
        raise _error(text, at, "a shape in square brackets is expected here, for example [8,28,28,1]")
    end = text.find("]", at)
    if end < 0:
        raise _error(text, len(text), "the closing ] is missing")
    after = _skip_spaces(text, end + 1)
    if after < len(text):
        raise _error(text, after, "nothing may follow the ]")
    items = text[at + 1 : end].split(",")
    if len(items) == 1 and not items[0].strip():
        return ()
    if len(items) == 1 and items[0].strip() in _UNKNOWN_RANK:
        return None
    sizes = []
    at += 1
    for item in items:
        sizes.append(_parse_size(text, _skip_spaces(text, at), item.strip()))
        at += len(item) + 1
    return tuple(sizes)


def _parse_size(text: str, at: int, item: str) -> int | None:
    if item in _UNKNOWN_SIZE:
        return None
    if item in _UNKNOWN_RANK:
        raise _error(text, at, f"{item} stands for the whole shape and stands alone, write ? for each unknown size")
    if not (item.isascii() and item.isdigit()):
        raise _error(text, at, "a size, ? for an unknown size or ... for an unknown rank is expected here")
    if len(item) > 19 or int(item) > _LARGEST:
        raise _error(text, at, "no tensor is that large")
    return int(item)


def _skip_spaces(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _error(text: str, at: int, advice: str) -> UsageError:
    shown = "".join(" " if c.isspace() else c for c in text)  # a tab or line break would shift the caret
    return UsageError(f"the spec {text!r} cannot be read at character {at + 1}: {advice}\n  {shown}\n  {' ' * at}^")
