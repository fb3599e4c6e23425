"""What a cause means, how to mend it, and an example: the text of ``tapetrace explain CAUSE``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import fill, indent

from tapetrace.analysis.explained_ops import EXPLAINED_OPS
from tapetrace.analysis.explained_steps import EXPLAINED_STEPS
from tapetrace.errors import UsageError
from tapetrace.model.words import Cause


@dataclass(frozen=True, slots=True)
class Explanation:
    """A cause in plain words. ``before`` and ``after`` are Python code that needs ``tf`` (and ``np``) and leaves its answer in ``gradient``;
    both are empty for a cause that has no example."""

    cause: Cause
    meaning: str
    mend: str
    before: str
    after: str

    def to_text(self, width: int = 100) -> str:
        """The explanation for a terminal, wrapped at ``width`` columns; code is never wrapped."""
        parts = [self.cause.value, fill(self.meaning, width), fill(f"How to mend it: {self.mend}", width)]
        if self.before:
            parts += [f"Before:\n\n{indent(self.before, '    ')}", f"After:\n\n{indent(self.after, '    ')}"]
        return "\n\n".join(parts) + "\n"


EXPLANATIONS: Mapping[Cause, Explanation] = {
    cause: Explanation(cause, meaning, mend, before.strip("\n"), after.strip("\n"))
    for cause, (meaning, mend, before, after) in {**EXPLAINED_OPS, **EXPLAINED_STEPS}.items()
}


def find_explanation(cause: Cause | str) -> Explanation:
    """The explanation of a cause, by its name as reports print it; case, spaces and hyphens do not matter.

    Raises `tapetrace.errors.UsageError`, which names the closest causes and lists all of them, for an unknown one.

    >>> find_explanation("stop-gradient").cause.value
    'stop_gradient'
    """
    if isinstance(cause, Cause):
        return EXPLANATIONS[cause]
    names = [c.value for c in Cause]
    name = re.sub(r"[\s-]+", "_", cause.strip().lower())
    if name in names:
        return EXPLANATIONS[Cause(name)]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5) or [n for n in names if name and name in n][:3]
    hint = f" (did you mean {' or '.join(close)}?)" if close else ""
    raise UsageError(f"no cause is called {cause[:60]!r}{hint}: type `tapetrace explain` and one of {', '.join(names)}")


def explain_cause(cause: Cause | str, width: int = 100) -> str:
    """The text that ``tapetrace explain CAUSE`` prints; raises as `find_explanation` does."""
    return find_explanation(cause).to_text(width)
