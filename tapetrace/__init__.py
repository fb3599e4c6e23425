"""tapetrace: does a real gradient reach every variable, and if not, which line cuts it?

Importing this package imports neither TensorFlow nor networkx; each name below is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tapetrace.api import assert_connected as assert_connected
    from tapetrace.api import check as check
    from tapetrace.api import load as load
    from tapetrace.comparing import compare as compare
    from tapetrace.errors import TapetraceError as TapetraceError
    from tapetrace.model.comparison import Comparison as Comparison
    from tapetrace.model.locations import Frame as Frame
    from tapetrace.model.locations import Location as Location
    from tapetrace.model.report import Break as Break
    from tapetrace.model.report import BrokenPath as BrokenPath
    from tapetrace.model.report import Report as Report
    from tapetrace.model.report import RootCause as RootCause
    from tapetrace.model.report import SourceResult as SourceResult
    from tapetrace.model.words import Cause as Cause
    from tapetrace.model.words import Verdict as Verdict
    from tapetrace.watching import watch as watch

__version__ = "0.1.0"

_WHERE = {
    "assert_connected": "tapetrace.api",
    "check": "tapetrace.api",
    "load": "tapetrace.api",
    "compare": "tapetrace.comparing",
    "Comparison": "tapetrace.model.comparison",
    "TapetraceError": "tapetrace.errors",
    "Frame": "tapetrace.model.locations",
    "Location": "tapetrace.model.locations",
    "Break": "tapetrace.model.report",
    "BrokenPath": "tapetrace.model.report",
    "Report": "tapetrace.model.report",
    "RootCause": "tapetrace.model.report",
    "SourceResult": "tapetrace.model.report",
    "Cause": "tapetrace.model.words",
    "Verdict": "tapetrace.model.words",
    "watch": "tapetrace.watching",
}

__all__ = [
    "Break",
    "BrokenPath",
    "Cause",
    "Comparison",
    "Frame",
    "Location",
    "Report",
    "RootCause",
    "SourceResult",
    "TapetraceError",
    "Verdict",
    "__version__",
    "assert_connected",
    "check",
    "compare",
    "load",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'tapetrace' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
