"""What importing costs: the core and the command line start without TensorFlow, the package without anything heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded_by(statement: str) -> set[str]:
    """The top-level names in ``sys.modules`` of a fresh Python after ``statement``."""
    code = f"import sys\n{statement}\nprint(' '.join(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())


def test_the_package_brings_in_nothing_heavy() -> None:
    assert not loaded_by("import tapetrace") & {"tensorflow", "keras", "networkx", "numpy", "typer", "rich", "pydot", "graphviz"}


@pytest.mark.parametrize("module", ["model.report", "analysis", "render", "targets", "specs", "api", "cli"])
def test_no_tensorflow_before_a_step_is_traced(module: str) -> None:
    assert not loaded_by(f"import tapetrace.{module}") & {"tensorflow", "keras"}


def test_help_needs_no_tensorflow() -> None:
    statement = "import sys; sys.argv = ['tapetrace', '--help']\nimport contextlib, io, tapetrace.cli\n"
    statement += "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): tapetrace.cli.main()"
    assert not loaded_by(statement) & {"tensorflow", "keras"}
