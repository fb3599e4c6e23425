"""The Python API: check a step, insist that it is connected, read and write reports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tapetrace.errors import OutputError, ReportError, UsageError
from tapetrace.model.report import Report

MODES = ("auto", "graph", "eager")


def check(
    step: Callable[..., Any] | str | Any,
    *args: Any,
    specs: Sequence[str] | None = None,
    mode: str = "auto",
    verify: bool = True,
    numeric: bool = False,
    target: str = "",
    frozen: Sequence[str] = (),
    perturb: bool = False,
    compare_modes: bool = False,
    loss: str | int | None = None,
    variables: Sequence[str] = (),
    signature: str = "",
    **kwargs: Any,
) -> Report:
    """Does a real gradient reach every source of every gradient call that ``step`` makes, and if not, which line cuts it?

    ``step`` is a function, a ``tf.function``, a compiled Keras model, or the name of one (``"pkg.train:train_step"``). ``args`` and ``kwargs`` are
    what it is called with (tensors, arrays, ``tf.TensorSpec``), or ``specs`` describes them (``"float32[8,28,28,1]"``).

    ``mode="graph"`` traces the step and never runs it. ``"eager"`` runs it, a few times if values leave TensorFlow; variables and random number
    generators are put back. ``"auto"`` traces, and runs only what cannot be traced, or what ``float(tensor)`` cuts
    without ``tf.function``, saying so in ``report.notes``. ``verify=False`` does not build the backward pass, which is quicker, and does without
    the comparison with what TensorFlow returns.

    ``numeric=True`` also runs what was traced, once on the arguments or three times on generated ones, and says what the gradients were as numbers:
    a live gradient that is zero then is ``zero`` (`tapetrace.analysis.numeric`). Variables and random number generators are put back.

    ``perturb=True`` also runs the step eagerly with each variable changed that no gradient reaches, and says in ``report.notes`` and in the details
    of breaks whether the loss moves. ``compare_modes=True`` also runs the step in the other mode, and says in ``report.notes`` where TensorFlow
    itself returns something else.

    ``frozen`` are patterns of paths (``"critic/*"``) that should get no gradient: one that gets some is in ``report.unexpected`` and the report is
    not ``ok``, one that gets none is as it should be.

    ``step`` may also be finished: a ``ConcreteFunction``, or the name of a SavedModel's folder, a GraphDef's file or a ``.keras`` file. There, and
    for a step that makes no gradient call, ``loss`` names an output (or its index, or a tensor) and ``variables`` are patterns of paths, or names
    of inputs and tensors, that stand for all trainable variables. ``signature`` chooses a function of a SavedModel.

    Raises `tapetrace.TapetraceError` when there is no answer: the target cannot be found, the arguments do not fit, the step makes no gradient
    call and returns no loss, TensorFlow is missing or too old.

    >>> report = tapetrace.check(train_step, x, y)           # doctest: +SKIP
    >>> report.ok, [path.source.path for path in report.broken]  # doctest: +SKIP
    (False, ['vae/enc/kernel'])
    """
    if mode not in MODES:
        raise UsageError(f"mode={mode!r} is not one of {', '.join(map(repr, MODES))}.")
    if isinstance(step, (str, Path)):
        step = str(step)
        from tapetrace.capture.history import watching_imports
        from tapetrace.targets import load_target

        target = target or step
        with watching_imports():
            step = load_target(step).value
    from tapetrace.capture.environment import require_tensorflow

    require_tensorflow()
    from tapetrace.analysis.frozen import apply_frozen
    from tapetrace.capture.finished_choice import Asked
    from tapetrace.capture.nesting import one_check_deeper
    from tapetrace.capture.observer import observer
    from tapetrace.capture.steps import prepare
    from tapetrace.checking import check_auto, check_eager, check_finished, check_graph, note_missing_history
    from tapetrace.experiments import compare_modes as compared
    from tapetrace.experiments import perturb as perturbed

    with observer.paused(), one_check_deeper():  # a `watch` or a check around this must not take the step for the user's training
        asked = Asked(loss, tuple([variables] if isinstance(variables, str) else variables))
        prepared = prepare(step, args, kwargs, specs=specs, target=target, asked=asked, signature=signature)
        if prepared.finished is not None:
            running = {"mode='eager'": mode == "eager", "numeric": numeric, "perturb": perturb, "compare_modes": compare_modes}
            report = check_finished(prepared, verify, running)
        elif mode == "eager":
            report = check_eager(prepared, numeric=numeric)
        else:
            report = (check_graph if mode == "graph" else check_auto)(prepared, verify or numeric or compare_modes, numeric)
        if compare_modes:
            report = compared(report, prepared)
        if perturb:
            report = perturbed(report, prepared)
        report = note_missing_history(report)
    return apply_frozen(report, _patterns(frozen))


# AutoGraph converts whatever a step calls while it is traced, and leaves alone what carries this mark. ``tf.autograph.experimental.do_not_convert``
# would put it there, and import TensorFlow.
check.autograph_info__ = {}  # type: ignore[attr-defined]


def check_each(step: Any, sets: Sequence[tuple[Sequence[Any], Mapping[str, Any]]], *, target: str, **options: Any) -> Report:
    """One report of a step that is checked with several sets of positional and keyword arguments; ``options`` are those of `check`.

    Sources that are connected with some of them and not with others are in ``report.intermittent``.
    """
    from tapetrace.analysis.frozen import apply_frozen
    from tapetrace.analysis.intermittent import name_differences
    from tapetrace.analysis.merging import merge

    frozen = _patterns(options.pop("frozen", ()))
    reports = [check(step, *args, target=target, **kwargs, **options) for args, kwargs in sets]
    from tapetrace.capture.observed_inputs import describe_arguments, names_of

    described = [describe_arguments((args, kwargs), names_of(step)) for args, kwargs in sets]
    texts = name_differences([(("check", None), d) for d in described])
    reports = [replace(r, calls=tuple(replace(c, inputs=text) for c in r.calls)) for r, text in zip(reports, texts, strict=True)]
    return apply_frozen(merge(reports, target), frozen)


def _patterns(frozen: Sequence[str]) -> Sequence[str]:
    return [frozen] if isinstance(frozen, str) else frozen


def assert_connected(step: Callable[..., Any] | str | Any, *args: Any, **kwargs: Any) -> Report:
    """Raise AssertionError, with the text report as its message, unless a real gradient reaches every source. Arguments are those of `check`."""
    report = check(step, *args, **kwargs)
    if not report.ok:
        raise AssertionError("\n" + render_text(report))
    return report


_LARGEST = 500_000_000
"""Bytes of a report that are read: that of EfficientNetB7 has some millions."""


def load(path: str | Path) -> Report:
    """A report that was written as JSON. Raises `tapetrace.TapetraceError` when ``path`` cannot be read or is no report."""
    from tapetrace.model.encoding import report_from_json

    try:
        with Path(path).open("rb") as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise ReportError(f"{path} is larger than {_LARGEST // 10**6} MB, no report is: give one that `tapetrace check -o report.json` wrote.")
        text = data.decode("utf-8")
    except OSError as error:
        raise ReportError(f"{path} cannot be read ({error.strerror}): give a file that `tapetrace check -o report.json` wrote.") from error
    except UnicodeDecodeError as error:
        raise ReportError(f"{path} is not text: give a file that `tapetrace check -o report.json` wrote.") from error
    try:
        return report_from_json(text)
    except ReportError as error:
        raise ReportError(f"{path}: {error}") from error


def write_report(report: Report, path: Path, *, detail: str = "line", source: bool = True) -> Path:
    """Write a report in the format that the suffix of ``path`` names; an existing file is replaced only when the new one is whole.

    ``.graphml``, ``.gexf`` and ``.graph.json`` hold the graph alone (`tapetrace.render.graph_files`). ``detail`` is what one box of a picture stands
    for: ``line``, ``ops`` or ``layers``. ``source=False`` leaves lines of code out.
    Raises `tapetrace.TapetraceError` for an unknown suffix, a path that cannot be written, or a picture without a layout engine.
    """
    from tapetrace.render.files import write_atomic
    from tapetrace.render.graph_files import graph_suffixes, is_graph_file, write_graph
    from tapetrace.render.picture import picture_formats, write_picture

    report = report if source else _for_others(report)
    suffix = path.suffix.lower()
    if is_graph_file(path):
        return write_graph(report, path, source=source)
    if suffix in picture_formats:
        return write_picture(report, path, detail=detail, source=source)
    if suffix == ".html":
        from tapetrace.render.html import write_html

        return write_html(report, path, detail=detail, source=source)
    if suffix not in _TEXT_FORMATS:
        known = " ".join((*sorted(picture_formats), ".html", *_TEXT_FORMATS, *graph_suffixes))
        raise OutputError(f"The suffix of {str(path)!r} names no format: end it in one of {known}.")
    write_atomic(path, render_text(report, _TEXT_FORMATS[suffix], source=source).encode())
    return path


_TEXT_FORMATS = {".json": "json", ".sarif": "sarif", ".md": "markdown", ".txt": "text"}


def render_text(report: Report, format: str = "text", *, color: bool = False, width: int | None = None, source: bool = True) -> str:
    """The report as ``text``, ``json``, ``sarif``, ``markdown``, or ``github`` (annotations of GitHub Actions)."""
    report = report if source else _for_others(report)
    if format == "text":
        from tapetrace.render.text import render_text as as_text

        return as_text(report, color=color, width=width, source=source)
    if format == "json":
        from tapetrace.model.encoding import report_to_json

        return report_to_json(report, source=source)
    if format == "sarif":
        from tapetrace.render.sarif import render_sarif

        return render_sarif(report, source=source)
    if format == "markdown":
        from tapetrace.render.markdown import render_markdown

        return render_markdown(report, source=source)
    if format == "github":
        from tapetrace.render.github import render_github

        return render_github(report, source=source)
    raise UsageError(f"format={format!r} is not one of text, json, sarif, markdown, github.")


def _for_others(report: Report) -> Report:
    from tapetrace.model.encoding import report_without_source

    return report_without_source(report)


def notebook_bundle(report: Report, include: Collection[str] | None = None, exclude: Collection[str] | None = None) -> dict[str, str]:
    """What a notebook shows of the report, by MIME type; never raises."""
    from tapetrace.render.notebook import mimebundle

    return mimebundle(report, include, exclude)


def explain(cause: str) -> str:
    """What a cause means and how to mend it, with an example. Raises `tapetrace.TapetraceError` for a word that is no cause."""
    from tapetrace.analysis.explanations import explain_cause

    return explain_cause(cause)


def op_table(pattern: str = "*") -> str:
    """Which ops of the TensorFlow installed here are differentiable, input by input, as a table of those whose type matches ``pattern``."""
    from tapetrace.capture.environment import require_tensorflow

    require_tensorflow()
    from tapetrace.capture.op_table import op_gates
    from tapetrace.render.op_table import render_op_table

    return render_op_table(op_gates(pattern))
