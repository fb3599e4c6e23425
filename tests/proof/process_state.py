"""Everything of a process that a capture may touch, to be compared before and after."""

from __future__ import annotations

import gc
import random
import signal
import sys
import threading
import warnings
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import op_callbacks
from tensorflow.python.ops import script_ops

from tapetrace.capture import private


def patched_owners() -> dict[str, Any]:
    """Classes and modules of TensorFlow and Keras whose attributes are replaced for the time of a capture, or could be."""
    found = {
        "GradientTape": private.GradientTape,
        "EagerTensor": private.EagerTensorBase,
        "registry": type(private.gradient_registry),
        "Function": private.Function,
        "ConcreteFunction": private.ConcreteFunction,
        "AtomicFunction": private.AtomicFunction,
        "FuncGraph": private.FuncGraph,
        "gradients_util": private.gradients_util,
        "record": private.record,
        "fast_path": private.fast_path,
        "constant_op": private.constant_op,
        "op_library": private.op_library,
        "op_callbacks": op_callbacks,
        "script_ops": script_ops,
        "mirrored_run": private.mirrored_run,
        "merge": private.mirrored_run._MirroredReplicaContext,
        "replica thread": private.mirrored_run._MirroredReplicaThread,
        "ReplicaContext": tf.distribute.ReplicaContext,
        "ForwardAccumulator": tf.autodiff.ForwardAccumulator,
        "tf.Variable": tf.Variable,
        "BaseResourceVariable": private.BaseResourceVariable,
        "ResourceVariable": private.ResourceVariable,
        "keras.Model": keras.Model,
        "tf.custom_gradient": tf.custom_gradient,
        "threading": threading.Thread,
    }
    found |= {f"optimizer {kind.__name__}": kind for kind in keras.optimizers.Optimizer.__mro__[:-1]}
    return found


def attributes() -> dict[str, int]:
    """``owner.name`` and the identity of what it is."""
    return {f"{t}.{n}": id(value) for t, owner in patched_owners().items() for n, value in vars(owner).items() if n != "__annotations__"}


def process_state() -> dict[str, Any]:
    """What has to be the same again. A value that differs is named by its key."""
    eager = context.context()
    own = getattr(eager, "_rng", None)
    kinds = {name: getattr(value, "__name__", "") for name, value in vars(private.op_library).items()}
    return {
        "attributes": attributes(),
        "names": kinds,
        "op callbacks": list(eager._thread_local_data.op_callbacks),
        "invoking": eager._thread_local_data.invoking_op_callbacks,
        "trace callbacks": list(private.trace_callbacks),
        "executing eagerly": tf.executing_eagerly(),
        "functions run eagerly": tf.config.functions_run_eagerly(),
        "tapes": private.record.could_possibly_record(),
        "strategy": type(tf.distribute.get_strategy()).__name__,
        "meta path": list(map(id, sys.meta_path)),
        "path": list(sys.path),
        "argv": list(sys.argv),
        "streams": (id(sys.stdout), id(sys.stderr), id(sys.excepthook), id(threading.excepthook), id(sys.unraisablehook)),
        "trace": (sys.gettrace(), sys.getprofile(), threading._trace_hook, threading._profile_hook),
        "interrupt": signal.getsignal(signal.SIGINT),
        "recursion": sys.getrecursionlimit(),
        "switch interval": sys.getswitchinterval(),
        "warnings": [(a, str(m), c.__name__, str(f), n) for a, m, c, f, n in warnings.filters],
        "showwarning": id(warnings.showwarning),
        "collector": (gc.isenabled(), gc.get_threshold(), gc.callbacks[:]),
        "threads": sorted(t.name for t in threading.enumerate()),
        "python": random.getstate(),
        "numpy": tuple(map(repr, np.random.get_state())),
        "seed": getattr(eager, "_seed", None),
        "tensorflow": own.getstate() if own is not None else None,
    }


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The keys whose values are not the same, the names of attributes that were replaced, added or left out."""
    found = [key for key in before if key != "attributes" and before[key] != after[key]]
    old, new = before["attributes"], after["attributes"]
    return found + sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
