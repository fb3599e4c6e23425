"""Errors a user can meet. Each is one sentence that says what, where, and what to type next, and carries its exit code."""

from __future__ import annotations


class TapetraceError(Exception):
    """tapetrace could not answer. ``exit_code`` is what the command line ends with."""

    exit_code = 2


class UsageError(TapetraceError):
    """What was asked cannot be understood: a target, a spec, an option, a suffix."""


class TargetError(TapetraceError):
    """The user's module or function cannot be found, imported or called."""


class InstallationError(TapetraceError):
    """TensorFlow is missing, too old, or Keras runs on another backend."""


class TraceFailed(TapetraceError):
    """The step could not be traced and nothing was seen that could be reported."""


class OutputError(TapetraceError):
    """A report cannot be written: the path, the suffix, or no layout engine."""


class ReportError(TapetraceError):
    """A file given as a report is not one."""
