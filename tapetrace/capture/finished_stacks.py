"""Which lines made the ops of a SavedModel, if it was saved with ``tf.saved_model.SaveOptions(save_debug_info=True)``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tapetrace.capture import private
from tapetrace.capture.locations import RawFrame

_FILE = Path("debug") / "saved_model_debug_info.pb"
_WRAPPED = re.compile(r"^__inference_(.*)_\d+$")
"""TensorFlow takes this off the names of functions when it loads them."""


class SavedStacks:
    """The stack of each op by its name and that of its function, innermost frame last."""

    def __init__(self, info: Any) -> None:
        self._info = info
        self._keys: dict[tuple[str, str], str] = {}
        for key in sorted((*info.traces, *info.name_to_trace_id)):
            op, _, function = key.rpartition("@")
            wrapped = _WRAPPED.match(function)
            self._keys.setdefault((op, wrapped[1] if wrapped else function), key)

    def __call__(self, op: Any) -> list[RawFrame]:
        """Empty for an op of which the file says nothing. Traces of one function share their lines, and are not told apart."""
        key = self._keys.get((op.name, op.graph.name))
        if key is None:
            return []
        info = self._info
        trace = info.traces[key] if key in info.traces else info.traces_by_id[info.name_to_trace_id[key]]
        frames = [*trace.file_line_cols, *(info.frames_by_id[i] for i in trace.frame_id)]
        return [(info.files[f.file_index], f.line, f.func) for f in frames]


def saved_stacks(folder: Path) -> SavedStacks | None:
    """None for a SavedModel without such a file, or one that cannot be read."""
    info = private.GraphDebugInfo()
    try:
        info.ParseFromString((folder / _FILE).read_bytes())
        return SavedStacks(info)
    except Exception:  # not there, or cut short: there are no lines then
        return None
