"""The vocabulary: causes of a break, verdicts on a source, and what TensorFlow handed back."""

from __future__ import annotations

from enum import Enum


class Cause(str, Enum):
    """Why gradient does not pass. The first that applies, in this order, names a break."""

    STOP_GRADIENT = "stop_gradient"
    """StopGradient or PreventGradient."""
    PYTHON_FUNCTION = "python_function"
    """The value goes through ``tf.numpy_function`` or ``tf.py_function``."""
    NUMPY_ESCAPE = "numpy_escape"
    """The value left TensorFlow: ``.numpy()``, ``np.*``, ``float()``, ``int()``, ``.tolist()``, ``model.predict``, ``get_weights``."""
    VARIABLE_WRITE = "variable_write"
    """The path goes through ``assign*`` into a variable and is read back from it."""
    DATASET = "dataset"
    """The path goes through a ``tf.data`` pipeline or ``Dataset.reduce``."""
    CUSTOM_GRADIENT = "custom_gradient"
    """The user's ``tf.custom_gradient`` returns None or zeros for this input or variable."""
    NO_GRADIENT_REGISTERED = "no_gradient_registered"
    """TensorFlow's gradient registry has no entry for the op."""
    NON_FLOAT = "non_float"
    """The value is an integer, bool or string here: a cast to an integer, a comparison, argmax, sampling, ``as_string``."""
    NOT_DIFFERENTIABLE = "not_differentiable"
    """The op is registered as not differentiable."""
    GRADIENT_IS_NONE = "gradient_is_none"
    """A gradient function is registered and returns None for this input."""
    GRADIENT_IS_ZERO = "gradient_is_zero"
    """The gradient function returns something that does not depend on the incoming gradient."""
    OUTSIDE_TAPE = "outside_tape"
    """Recorded by no tape: before ``with``, after it, or between ``reset()`` and the end."""
    RECORDING_STOPPED = "recording_stopped"
    """Inside ``tape.stop_recording()``."""
    NOT_WATCHED = "not_watched"
    """A plain tensor that nobody watched, or a variable with ``trainable=False`` or ``watch_accessed_variables=False``."""
    NON_FLOAT_SOURCE = "non_float_source"
    """The variable itself is an integer, bool or string."""
    CAPTURED_VALUE = "captured_value"
    """The loss depends on a tensor that was made before the step."""
    NEVER_READ = "never_read"
    """The step never reads the variable."""
    UNUSED_RESULT = "unused_result"
    """The variable is read, but what is computed from it never reaches the target."""
    OTHER_BRANCH = "other_branch"
    """Conditional only: the branch that would connect the source."""
    TAPE_REUSED = "tape_reused"
    """A non-persistent tape was asked a second time."""
    NUMERICALLY_ZERO = "numerically_zero"
    """Live, but the number was zero, NaN or infinite when the step ran."""
    NOT_PROBED = "not_probed"
    """TensorFlow's gradient function for the op could not be asked, so nothing is claimed about it."""


class Verdict(str, Enum):
    """What is true of one source in one gradient call."""

    CONNECTED = "connected"
    """Live, whatever branches are taken."""
    CONDITIONAL = "conditional"
    """Live only when some branch of a conditional is taken."""
    ZERO = "zero"
    """Not live, yet TensorFlow returns a tensor of zeros."""
    NONE = "none"
    """Not live."""
    ERROR = "error"
    """The gradient call raises: it meets an op with no registered gradient, or a used tape."""
    OPAQUE = "opaque"
    """Only Python code decides (``tf.py_function``), or an op that could not be probed."""

    @property
    def is_broken(self) -> bool:
        """Whether the verdict means that no real gradient reaches the source."""
        return self in (Verdict.ZERO, Verdict.NONE, Verdict.ERROR)


class Returned(str, Enum):
    """What the gradient call handed back for one source."""

    NONE = "none"
    TENSOR = "tensor"
    ERROR = "error"
