"""What a gradient call may be given: variables, tensors, and composites of which TensorFlow differentiates one tensor."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tapetrace.capture import private
from tapetrace.capture.variables import is_variable


def is_tensor(value: Any) -> bool:
    """Whether ``value`` is a variable, a tensor, or a ragged, sparse or sliced one."""
    return is_variable(value) or tf.is_tensor(value) or isinstance(value, (tf.IndexedSlices, tf.SparseTensor, tf.RaggedTensor))


def tensor_of(value: Any) -> Any:
    """The one tensor that TensorFlow differentiates: of a ragged or sparse tensor its values. A variable stands for itself."""
    return value if is_variable(value) else private.flat_gradient_tensors([value])[0]


def name_of(value: Any) -> str:
    """The name of a tensor, or the type of something that has none."""
    try:
        name = getattr(value, "name", "")
    except (AttributeError, ValueError):  # eager tensors refuse
        name = ""
    return str(name or "") or ("tensor" if is_tensor(value) else type(value).__name__)
