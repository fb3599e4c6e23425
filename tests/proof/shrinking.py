"""Make a program that fails smaller, so that it can be read: lines go, blocks lose their headers, expressions become one of the names in them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

RESERVED = frozenset("tf np lambda for in if else not and or is None True False range".split())


def shrink(source: str, still_fails: Callable[[str], bool], seconds: float = 60.0) -> str:
    """The smallest program found within ``seconds`` for which ``still_fails`` holds, as it does for ``source``. Asked of programs that cannot run
    as well."""
    deadline = time.monotonic() + seconds
    lines = source.splitlines()
    again = True
    while again:
        again = False
        position = len(lines) - 1
        while position >= 0:
            for smaller in _smaller(lines, min(position, len(lines) - 1)):
                if time.monotonic() > deadline:
                    return "\n".join(lines) + "\n"
                if _ends(smaller) and still_fails("\n".join(smaller) + "\n"):
                    lines, again = smaller, True
                    break
            position = min(position - 1, len(lines) - 1)
    return "\n".join(lines) + "\n"


def _ends(lines: list[str]) -> bool:
    """Whether each ``while n1 < 3:`` still has its ``n1 += 1``; a program that never ends says nothing, and fills the memory."""
    counters = [m.group(1) for line in lines if (m := re.match(r"\s*while (\w+) <", line))]
    return all(any(line.strip() == f"{counter} += 1" for line in lines) for counter in counters)


def _smaller(lines: list[str], position: int) -> Iterator[list[str]]:
    """Programs without the line at ``position`` or with a simpler one, the smallest first."""
    line = lines[position]
    if _depth(line) and position < next((i for i, text in enumerate(lines) if text.startswith("def make")), 0):
        return  # what stands before goes whole or stays
    if not line.strip():
        yield lines[:position] + lines[position + 1 :]
        return
    start, end = position, _end(lines, position)
    while start and lines[start - 1].strip().startswith("@") and _depth(lines[start - 1]) == _depth(line):
        start -= 1
    yield lines[:start] + lines[end:]
    if end > position + 1:
        inner = [text.removeprefix("    ") for text in lines[position + 1 : end]]
        yield lines[:position] + inner + lines[end:]
    for simpler in _simpler(line):
        yield [*lines[:position], simpler, *lines[position + 1 :]]


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _end(lines: list[str], position: int) -> int:
    """Where the block that begins at ``position`` ends; a line without a block is one of its own."""
    end = position + 1
    while end < len(lines) and (not lines[end].strip() or _depth(lines[end]) > _depth(lines[position])):
        end += 1
    while end > position + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def _simpler(line: str) -> Iterator[str]:
    assigned = re.fullmatch(r"(\s*[\w, ]+ = )(.+)", line)
    if assigned:
        before, expression = assigned.groups()
        names = dict.fromkeys(n for n in re.findall(r"(?<![\w.])[a-z]\w*(?![\w(.=])", expression) if n not in RESERVED)
        if "array" not in before and not expression.startswith("tf.constant"):
            yield from (before + name for name in names if name != expression)
        terms = expression.split(" + ")
        yield from (before + " + ".join(terms[:i] + terms[i + 1 :]) for i in range(len(terms)) if len(terms) > 1)
    listed = re.search(r"\[([\w., ]+)\]", line)
    if listed and (".gradient(" in line or ".jacobian(" in line or "gradients(" in line):
        parts = listed.group(1).split(", ")
        for i in range(len(parts)):
            if len(parts) > 1:
                yield line.replace(listed.group(0), "[" + ", ".join(parts[:i] + parts[i + 1 :]) + "]", 1)
    for option in re.findall(r", (?:unconnected_gradients='zero'|output_gradients=[^)]*|persistent=True)", line):
        yield line.replace(option, "")
