"""A report in a file, as the tests spoil it, and tapetrace as a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import tapetrace
from tapetrace.api import render_text
from tests.unit import reports

ROOT = Path(tapetrace.__file__).parents[1]

BASE: dict[str, Any] = json.loads(render_text(reports.in_series(), "json"))


def saved(folder: Path, data: Any) -> Path:
    file = folder / "hostile.json"
    text = data if isinstance(data, str | bytes) else json.dumps(data)
    file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return file


def command(*arguments: str | bytes, cwd: Path | None = None, env: dict[str, str] | None = None, **how: Any) -> subprocess.CompletedProcess[bytes]:
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(ROOT)} if env is None else env
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
    return subprocess.run([sys.executable, "-m", "tapetrace", *arguments], cwd=cwd, env=variables, timeout=120, check=False, **streams)
