"""Sphinx: Markdown by MyST, the furo theme, warnings are errors (`make docs`)."""

from __future__ import annotations

import tapetrace

project = "tapetrace"
author = "the tapetrace authors"
copyright = "2026, the tapetrace authors"
version = release = tapetrace.__version__

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
nitpicky = True

html_theme = "furo"
html_title = f"tapetrace {release}"
html_copy_source = False
