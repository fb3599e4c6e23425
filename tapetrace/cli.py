"""The command line: parse, call `tapetrace.api`, print, exit. 0: all connected, 1: something is broken, 2: no answer.

TensorFlow and networkx are imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from tapetrace import __version__
from tapetrace.answering import BROKEN, NO_ANSWER, OK, answering, give_up
from tapetrace.asking import check_before_tracing, one_mode, trace
from tapetrace.config import Mode, Settings, is_true, resolve
from tapetrace.destinations import check_destinations, companions
from tapetrace.diffing import diff
from tapetrace.errors import TapetraceError
from tapetrace.options import (
    ColorOption,
    Debug,
    DetailOption,
    FormatOption,
    FrozenPatterns,
    LossName,
    Outputs,
    Signature,
    SourceOption,
    VariableNames,
)
from tapetrace.streams import color_wanted, complain, open_closed_streams, output_to_stderr, progress, put, terminal_width

if TYPE_CHECKING:
    from tapetrace.model.report import Report
    from tapetrace.running import Run

app = typer.Typer(
    name="tapetrace",
    help="Does a real gradient reach every variable of a training step, and if not, which line cuts it?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        put(f"tapetrace {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    pass


@app.command()
def check(
    target: Annotated[str, typer.Argument(help="The step: pkg.train:train_step, path/train.py:train_step, a compiled Keras model, a saved graph.")],
    spec: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="SPEC", help="An argument without values, in quotes: 'float32[8,28,28,1]', 'training=bool'; one for each argument."),
    ] = None,
    args: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="TARGET", help="The arguments: a tuple, dict, tf.data.Dataset or generator of them, or a function that makes one."),
    ] = None,
    output: Outputs = None,
    format: FormatOption = None,
    mode: Annotated[Optional[Mode], typer.Option(help="How the step is run.", show_default="auto")] = None,  # noqa: UP045
    eager: Annotated[bool, typer.Option("--eager", help="Run the step op by op; the same as --mode eager.")] = False,
    quick: Annotated[
        Optional[bool],  # noqa: UP045
        typer.Option("--quick/--verify", help="Do not build the backward pass to hold the answer against TensorFlow's.", show_default="--verify"),
    ] = None,
    numeric: Annotated[
        Optional[bool],  # noqa: UP045
        typer.Option("--numeric/--no-numeric", help="Also run the step, and say which gradients are zero or NaN.", show_default="--no-numeric"),
    ] = None,
    perturb: Annotated[bool, typer.Option("--perturb", help="Also run the step with each dead variable changed: does the loss move?")] = False,
    compare_modes: Annotated[bool, typer.Option("--compare-modes", help="Also run the step in the other mode: do the two differ?")] = False,
    frozen: FrozenPatterns = None,
    loss: LossName = None,
    variables: VariableNames = None,
    signature: Signature = None,
    detail: DetailOption = None,
    source: SourceOption = None,
    color: ColorOption = None,
    debug: Debug = False,
) -> None:
    """Trace a training step and report every variable that no real gradient reaches."""
    with answering(debug):
        typed = {
            "format": format,
            "mode": one_mode(mode, eager),
            "quick": quick,
            "numeric": numeric,
            "detail": detail,
            "source": source,
            "color": color,
        }
        folder = Path.cwd()  # the user's module may change it
        settings = resolve(typed, os.environ, folder)
        files = output or []
        specs = spec or []
        check_before_tracing(settings, specs, args, files)
        with progress(f"tracing {target}"), output_to_stderr():
            asked: dict[str, object] = {"frozen": frozen, "perturb": perturb, "compare_modes": compare_modes}
            asked |= {"loss": loss, "variables": variables, "signature": signature}
            report = trace(target, specs, args, settings, asked)
            _write(report, files, folder, settings)
        _print(report, settings)
        raise typer.Exit(_exit_code(report))


@app.command(context_settings={"allow_extra_args": True, "allow_interspersed_args": False})
def run(
    context: typer.Context,
    program: Annotated[str, typer.Argument(metavar="SCRIPT [ARGS]...", help="The script, and what it is given; or with -m the name of a module.")],
    module: Annotated[bool, typer.Option("--module", "-m", help="SCRIPT is the name of a module, as with python -m.")] = False,
    output: Outputs = None,
    format: FormatOption = None,
    frozen: FrozenPatterns = None,
    detail: DetailOption = None,
    source: SourceOption = None,
    color: ColorOption = None,
    debug: Debug = False,
) -> None:
    """Run a training script as it is, and report afterwards, on standard error, every variable that no real gradient reached.

    Options of tapetrace stand before SCRIPT; all that follows is the script's own. So are its output and, when it fails, its exit code.
    """
    with answering(debug):
        folder = Path.cwd()  # the script may change it
        settings = resolve({"format": format, "detail": detail, "source": source, "color": color}, os.environ, folder)
        files = output or []
        check_destinations(files)
        from tapetrace.running import run_program

        finished = run_program(program, context.args, is_module=module, frozen=frozen or [])
        code = _tell(finished, files, folder, settings, format is not None)
        raise typer.Exit(finished.exit_code or code)


@app.command()
def render(
    report: Annotated[Path, typer.Argument(metavar="REPORT.json", help="A report that `tapetrace check -o report.json` wrote.")],
    output: Outputs = None,
    format: FormatOption = None,
    detail: DetailOption = None,
    source: SourceOption = None,
    color: ColorOption = None,
    debug: Debug = False,
) -> None:
    """Draw or print a report that was saved; TensorFlow is not needed. Without -o the report is printed."""
    with answering(debug):
        from tapetrace import api

        settings = resolve({"format": format, "detail": detail, "source": source, "color": color}, os.environ, Path.cwd())
        files = output or []
        check_destinations(files)
        loaded = api.load(report)
        with progress(f"drawing {report}"):
            _write(loaded, files, Path(), settings)
        if not files or format is not None:
            _print(loaded, settings)


app.command()(diff)


@app.command()
def explain(
    cause: Annotated[str, typer.Argument(metavar="CAUSE", help="A cause as reports name it, such as outside_tape.")], debug: Debug = False
) -> None:
    """Say what a cause means and how to mend it, with an example."""
    with answering(debug):
        from tapetrace import api

        put(api.explain(cause))


@app.command()
def ops(
    pattern: Annotated[str, typer.Argument(metavar="[PATTERN]", help="Op types to show, such as Gather or '*Norm*'; all of them without it.")] = "*",
    debug: Debug = False,
) -> None:
    """Show which ops are differentiable, input by input, in the TensorFlow installed here."""
    with answering(debug):
        from tapetrace.capture.environment import quiet_tensorflow, require_tensorflow

        quiet_tensorflow()
        with progress("asking TensorFlow"), output_to_stderr():
            require_tensorflow()
            from tapetrace import api

            table = api.op_table(pattern)
        put(table)


def _tell(finished: Run, files: list[Path], folder: Path, settings: Settings, is_printed: bool) -> int:
    """Write and print what a run showed; the exit code that it means."""
    from tapetrace import api

    if finished.report is None:
        complain(f"tapetrace: {finished.problem}")
        return NO_ANSWER
    try:
        _write(finished.report, files, folder, settings)
    except TapetraceError as error:
        complain(f"tapetrace: {error}")
        return error.exit_code
    finally:
        if is_printed or not files:
            color = color_wanted(settings.color.value, sys.stderr)
            complain(api.render_text(finished.report, settings.format.value, color=color, width=None, source=settings.source).rstrip("\n"))
    return _exit_code(finished.report)


def _write(report: Report, files: list[Path], folder: Path, settings: Settings) -> None:
    from tapetrace import api

    for file in files:
        api.write_report(report, folder / file, detail=settings.detail.value, source=settings.source)
        complain(f"wrote {file}")
        for beside in companions(file):
            complain(f"wrote {beside}")


def _print(report: Report, settings: Settings) -> None:
    from tapetrace import api

    put(api.render_text(report, settings.format.value, color=color_wanted(settings.color.value), width=terminal_width(), source=settings.source))


def _exit_code(report: Report) -> int:
    if report.broken or report.unexpected or report.empty:
        return BROKEN
    if report.error is None and not report.calls:
        complain(f"{report.target} asked for no gradient, name the function that calls tape.gradient")
    return OK if report.ok and report.calls else NO_ANSWER


def main() -> None:
    """Run the command line and leave the process with its exit code. An exception that escapes a command is raised only with ``--debug``."""
    open_closed_streams()
    try:
        app(prog_name="tapetrace")
    except Exception as error:
        if "--debug" in sys.argv or is_true(os.environ.get("TAPETRACE_DEBUG", "")):
            traceback.print_exc()
        else:
            with contextlib.suppress(typer.Exit):
                give_up(error)
        sys.exit(NO_ANSWER)
