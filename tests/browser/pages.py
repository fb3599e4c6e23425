"""The pages that are opened, by their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tapetrace.model.report import Report
from tests.unit import drawings, reports

from .routes import routed

Write = Callable[[str, Report], Path]

PAGES: dict[str, Callable[[], Report]] = {
    **{name: lambda name=name: routed(getattr(drawings, name)()) for name in ("vae", "gan", "branches", "resnet")},
    **{f"report_{name}": make for name, make in reports.EXAMPLES.items()},
    "hostile": drawings.hostile,
}
