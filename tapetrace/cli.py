"""The command line: parse, call `tapetrace.api`, print, exit. 0: all connected, 1: something is broken, 2: no answer.

TensorFlow and networkx are imported inside the commands, so that ``--help`` answers at once.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Optional

import typer

from tapetrace import __version__
from tapetrace.config import Color, Detail, Format, Mode, Settings, is_true, resolve
from tapetrace.destinations import check_destinations
from tapetrace.errors import TapetraceError, UsageError
from tapetrace.streams import color_wanted, complain, output_to_stderr, progress, put, terminal_width

if TYPE_CHECKING:
    from tapetrace.model.report import Report
    from tapetrace.running import Run
    from tapetrace.targets import Arguments

OK, BROKEN, NO_ANSWER = 0, 1, 2

MOST_SETS = 8
"""Sets of arguments that a generator or data set is asked for: those that differ in shapes, dtypes or Python values are checked."""

app = typer.Typer(
    name="tapetrace",
    help="Does a real gradient reach every variable of a training step, and if not, which line cuts it?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# Typer reads the annotations at run time, where Python 3.10 needs Optional for the older Typers.
_Outputs = Annotated[
    Optional[list[Path]],  # noqa: UP045
    typer.Option("--output", "-o", metavar="FILE", help="Also write the report: .svg .pdf .png .dot .html .json .sarif .md .txt; may be repeated."),
]
_Format = Annotated[Optional[Format], typer.Option(help="What is printed.", show_default="text")]  # noqa: UP045
_Detail = Annotated[Optional[Detail], typer.Option(help="What one box of a picture stands for.", show_default="line")]  # noqa: UP045
_Source = Annotated[Optional[bool], typer.Option("--source/--no-source", help="Show lines of your code in reports.", show_default="--source")]  # noqa: UP045
_Color = Annotated[Optional[Color], typer.Option(help="When to colour the text.", show_default="auto")]  # noqa: UP045
_Frozen = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--frozen", metavar="PATTERN", help="Variables that should get no gradient, such as 'critic/*'; may be repeated."),
]
_Debug = Annotated[bool, typer.Option("--debug", help="Show the Python traceback of an error.")]


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
    target: Annotated[str, typer.Argument(help="The step: pkg.train:train_step, path/train.py:train_step, or a compiled Keras model.")],
    spec: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(metavar="SPEC", help="An argument without values, in quotes: 'float32[8,28,28,1]', 'training=bool'; one for each argument."),
    ] = None,
    args: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="TARGET", help="The arguments: a tuple, dict, tf.data.Dataset or generator of them, or a function that makes one."),
    ] = None,
    output: _Outputs = None,
    format: _Format = None,
    mode: Annotated[Optional[Mode], typer.Option(help="How the step is run.", show_default="auto")] = None,  # noqa: UP045
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
    frozen: _Frozen = None,
    detail: _Detail = None,
    source: _Source = None,
    color: _Color = None,
    debug: _Debug = False,
) -> None:
    """Trace a training step and report every variable that no real gradient reaches."""
    with _answering(debug):
        typed = {"format": format, "mode": mode, "quick": quick, "numeric": numeric, "detail": detail, "source": source, "color": color}
        folder = Path.cwd()  # the user's module may change it
        settings = resolve(typed, os.environ, folder)
        files = output or []
        specs = spec or []
        _check_before_tracing(settings, specs, args, files)
        with progress(f"tracing {target}"), output_to_stderr():
            report = _trace(target, specs, args, settings, {"frozen": frozen or [], "perturb": perturb, "compare_modes": compare_modes})
            _write(report, files, folder, settings)
        _print(report, settings)
        raise typer.Exit(_exit_code(report))


@app.command(context_settings={"allow_extra_args": True, "allow_interspersed_args": False})
def run(
    context: typer.Context,
    program: Annotated[str, typer.Argument(metavar="SCRIPT [ARGS]...", help="The script, and what it is given; or with -m the name of a module.")],
    module: Annotated[bool, typer.Option("--module", "-m", help="SCRIPT is the name of a module, as with python -m.")] = False,
    output: _Outputs = None,
    format: _Format = None,
    frozen: _Frozen = None,
    detail: _Detail = None,
    source: _Source = None,
    color: _Color = None,
    debug: _Debug = False,
) -> None:
    """Run a training script as it is, and report afterwards, on standard error, every variable that no real gradient reached.

    Options of tapetrace stand before SCRIPT; all that follows is the script's own. So are its output and, when it fails, its exit code.
    """
    with _answering(debug):
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
    output: _Outputs = None,
    format: _Format = None,
    detail: _Detail = None,
    source: _Source = None,
    color: _Color = None,
    debug: _Debug = False,
) -> None:
    """Draw or print a report that was saved; TensorFlow is not needed. Without -o the report is printed."""
    with _answering(debug):
        from tapetrace import api

        settings = resolve({"format": format, "detail": detail, "source": source, "color": color}, os.environ, Path.cwd())
        files = output or []
        check_destinations(files)
        loaded = api.load(report)
        with progress(f"drawing {report}"):
            _write(loaded, files, Path(), settings)
        if not files or format is not None:
            _print(loaded, settings)


@app.command()
def explain(
    cause: Annotated[str, typer.Argument(metavar="CAUSE", help="A cause as reports name it, such as outside_tape.")], debug: _Debug = False
) -> None:
    """Say what a cause means and how to mend it, with an example."""
    with _answering(debug):
        from tapetrace import api

        put(api.explain(cause))


@app.command()
def ops(
    pattern: Annotated[str, typer.Argument(metavar="[PATTERN]", help="Op types to show, such as Gather or '*Norm*'; all of them without it.")] = "*",
    debug: _Debug = False,
) -> None:
    """Show which ops are differentiable, input by input, in the TensorFlow installed here."""
    with _answering(debug):
        from tapetrace.capture.environment import quiet_tensorflow, require_tensorflow

        quiet_tensorflow()
        with progress("asking TensorFlow"), output_to_stderr():
            require_tensorflow()
            from tapetrace import api

            table = api.op_table(pattern)
        put(table)


def _check_before_tracing(settings: Settings, specs: list[str], args: str | None, files: list[Path]) -> None:
    """Refuse what can be refused before minutes go into importing and tracing."""
    from tapetrace.specs import parse_spec

    if specs and args is not None:
        raise UsageError("--spec and --args both give the arguments of the step, use one of them")
    for text in specs:
        parse_spec(text)
    check_destinations(files)


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


def _trace(target: str, specs: list[str], args: str | None, settings: Settings, asked: dict[str, Any]) -> Report:
    from tapetrace.capture.environment import quiet_tensorflow, require_installed, require_tensorflow
    from tapetrace.capture.history import watching_imports
    from tapetrace.targets import load_target

    quiet_tensorflow()
    require_installed()
    with watching_imports():
        step = load_target(target)
        require_tensorflow()  # after the user's module, which may choose the backend and the devices
        sets = _argument_sets(args) if args is not None else [((), {})]
    from tapetrace import api

    taken = sorted({name for _, keywords in sets for name in signature(api.check).parameters.keys() & keywords.keys()})
    if taken:
        raise UsageError(f"the step cannot be given an argument named {taken[0]!r} by --args, give it by position")
    options: dict[str, Any] = {"specs": specs or None, "mode": settings.mode.value, "target": target}
    options |= {"verify": not settings.quick, "numeric": settings.numeric}
    options |= {name: value for name, value in asked.items() if value}
    if len(sets) > 1:
        return api.check_each(step.value, sets, **options)
    ((positional, keywords),) = sets
    return api.check(step.value, *positional, **options, **keywords)


def _argument_sets(args: str) -> list[Arguments]:
    """The sets of arguments that differ in more than their numbers, among the first that ``args`` gives."""
    from itertools import islice

    from tapetrace.capture.observed_inputs import describe_arguments
    from tapetrace.errors import TargetError
    from tapetrace.targets import argument_sets

    different: dict[str, Arguments] = {}
    for positional, keywords in islice(argument_sets(args), MOST_SETS):
        different.setdefault(repr(describe_arguments((positional, keywords))), (positional, keywords))
    if not different:
        raise TargetError(f"{args} gives no arguments: it is empty, let it hold at least one batch")
    return list(different.values())


def _write(report: Report, files: list[Path], folder: Path, settings: Settings) -> None:
    from tapetrace import api

    for file in files:
        api.write_report(report, folder / file, detail=settings.detail.value, source=settings.source)
        complain(f"wrote {file}")


def _print(report: Report, settings: Settings) -> None:
    from tapetrace import api

    put(api.render_text(report, settings.format.value, color=color_wanted(settings.color.value), width=terminal_width(), source=settings.source))


def _exit_code(report: Report) -> int:
    if report.broken or report.unexpected:
        return BROKEN
    if report.error is None and not report.calls:
        complain(f"{report.target} asked for no gradient, name the function that calls tape.gradient")
    return OK if report.ok and report.calls else NO_ANSWER


@contextlib.contextmanager
def _answering(debug: bool) -> Iterator[None]:
    """Whatever goes wrong inside becomes one sentence on standard error and exit code 2; with ``debug`` it is raised."""
    try:
        yield
    except typer.Exit:
        raise
    except BaseException as error:
        if debug or is_true(os.environ.get("TAPETRACE_DEBUG", "")):
            if isinstance(error, Exception):
                raise
            traceback.print_exc()  # SystemExit and Ctrl-C would end the process with an exit code that is not ours
        _give_up(error)


def _give_up(error: BaseException) -> NoReturn:
    if isinstance(error, TapetraceError):
        trace = getattr(error, "user_traceback", "")
        if trace:
            complain(trace)
        complain(f"tapetrace: {error}")
        raise typer.Exit(error.exit_code)
    if isinstance(error, (KeyboardInterrupt, EOFError)):
        complain("tapetrace: interrupted")
    elif isinstance(error, SystemExit):
        complain(f"tapetrace: the step called sys.exit({error.code!r}), so there is no answer")
    else:
        message = (str(error).strip() or "no message").split("\n")[0]
        complain(f"tapetrace: this is a fault of tapetrace ({type(error).__name__}: {message}), run again with --debug and report what it shows")
    raise typer.Exit(NO_ANSWER)


def main() -> None:
    """Run the command line and leave the process with its exit code. An exception that escapes a command is raised only with ``--debug``."""
    try:
        app(prog_name="tapetrace")
    except Exception as error:
        if "--debug" in sys.argv or is_true(os.environ.get("TAPETRACE_DEBUG", "")):
            traceback.print_exc()
        else:
            with contextlib.suppress(typer.Exit):
                _give_up(error)
        sys.exit(NO_ANSWER)
