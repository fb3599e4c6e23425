"""Every private TensorFlow name that tapetrace uses, each with what it is for. Looked up, not version-parsed; tried with TensorFlow 2.16 and 2.21.

A name that is missing raises `InstallationError` when this module is imported, so that nothing fails half way through a trace.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from random import Random
from typing import Any

from tapetrace.errors import InstallationError


def _find(module: str, name: str = "") -> Any:
    """The attribute ``name`` of ``module``, or the module itself."""
    try:
        found = import_module(module)
        return getattr(found, name) if name else found
    except (ImportError, AttributeError) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "tensorflow":
            raise InstallationError("TensorFlow is not installed here: pip install 'tapetrace[tensorflow]'.") from error
        what = f"{module}.{name}" if name else module
        raise InstallationError(f"This TensorFlow has no {what}, which tapetrace needs: pip install -U 'tensorflow>=2.16'.") from error


gradient_registry = _find("tensorflow.python.framework.ops", "gradient_registry")
"""What ``tf.RegisterGradient`` fills. ``lookup(op type)`` gives a function, or None for an op that is not differentiable; or raises LookupError."""

FuncGraph = _find("tensorflow.python.framework.func_graph", "FuncGraph")
"""A graph that captures outside tensors as placeholders: the scratch graph that a gradient function is asked in."""

is_trainable = _find("tensorflow.python.eager.backprop_util", "IsTrainable")
"""Whether gradients exist for a tensor or dtype at all. Of a variant it looks at what the list inside holds."""

handle_data_of = _find("tensorflow.python.ops.handle_data_util", "get_handle_data")
"""Dtypes and shapes behind a resource or variant tensor, as a proto with ``is_set`` and ``shape_and_type``; None if nobody knows."""

copy_handle_data = _find("tensorflow.python.ops.handle_data_util", "copy_handle_data")
"""``(from, to)``: makes a placeholder know what its resource or variant holds."""

constant_op = _find("tensorflow.python.framework.constant_op")
"""``convert_to_eager_tensor``, its global, is what makes an eager tensor of a Python number or an array."""

tf_stack = _find("tensorflow.python.util.tf_stack")
"""The Python stack as TensorFlow records it, with AutoGraph's lines mapped back: ``extract_stack()``."""


def variables_of(graph: Any) -> tuple[Any, ...]:
    """The variables that the functions of a graph read, trainable or not; so far, if its trace has not come to its end."""
    return tuple(graph.variables or getattr(graph, "_watched_variables", ()))


_gradient_function = _find("tensorflow.python.eager.backprop", "_gradient_function")
_maybe_compile = _find("tensorflow.python.ops.gradients_util", "_MaybeCompile")


def asked_when_raised(error: BaseException) -> list[tuple[str, list[Any]]]:
    """Type and outputs of the ops whose gradient functions were running when ``error`` was raised, the outermost first.

    Tapes ask by way of ``_gradient_function(op_name, …, outputs, …)``, which is not given outputs that the gradient function has no use for;
    ``tf.gradients`` by way of ``_MaybeCompile(…, op, …)``.
    """
    found: list[tuple[str, list[Any]]] = []
    traceback = error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_code is _gradient_function.__code__:
            names = frame.f_locals
            found.append((str(names["op_name"]), [t for t in names["outputs"] or () if t is not None]))
        elif frame.f_code is _maybe_compile.__code__:
            op = frame.f_locals["op"]
            found.append((op.type, list(op.outputs)))
        traceback = traceback.tb_next
    return found


def eager_gradient(op_type: str, attrs: Any, inputs: list[Any], outputs: list[Any], came: list[Any]) -> Any:
    """What the registered gradient function of an op that ran eagerly makes of ``came``, the gradients of its outputs; as a tape asks it."""
    return _gradient_function(op_type, attrs, len(inputs), inputs, outputs, came, [], "")


def keras_node() -> Any:
    """Keras 3's class for one place of an operation in a functional model, ``Node(operation, call_args, …)``; None where there is none."""
    return getattr(sys.modules.get("keras.src.ops.node"), "Node", None)


def function_graph(graph: Any, name: str) -> Any:
    """The FuncGraph behind a function's ``name`` as ``graph`` or a graph around it knows it, None when only its definition is known."""
    while graph is not None:
        found = graph._get_function(name)  # the only way from an op that calls a function to the Python graph of its body
        if found is not None:
            return getattr(found, "graph", None)
        graph = getattr(graph, "outer_graph", None)
    return None


def copy_operation(graph: Any, operation: Any, inputs: list[Any], attributes: dict[str, Any]) -> Any:
    """Add to ``graph`` an op like ``operation`` on other ``inputs``. The public ``tf.raw_ops`` would drop ``_gradient_op_type`` and the like."""
    return graph._create_op_internal(
        operation.type,
        inputs,
        dtypes=[t.dtype for t in operation.outputs],
        input_types=[t.dtype.base_dtype for t in operation.inputs],  # a variable of TensorFlow 1 is read as a reference
        attrs=attributes,
        op_def=operation.op_def,
        compute_device=False,
    )


default_graph = _find("tensorflow.python.framework.ops", "get_default_graph")
"""The graph that ops are being added to in this thread."""

GradientTape = _find("tensorflow.python.eager.backprop", "GradientTape")
"""The class behind ``tf.GradientTape``; its ``_push_tape`` and ``_pop_tape`` serve ``with``, ``stop_recording`` and ``reset``."""

flat_gradient_tensors = _find("tensorflow.python.framework.composite_tensor_gradient", "get_flat_tensors_for_gradients")
"""The one tensor of each composite tensor (ragged, sparse, IndexedSlices) that a gradient call differentiates."""

Function = _find("tensorflow.python.eager.polymorphic_function.polymorphic_function", "Function")
"""What ``tf.function`` returns; ``_clone(None)`` makes one like it that has not been traced, its traces are counted by ``_key_for_call_stats``."""

python_builtins = _find("tensorflow.python.autograph.operators.py_builtins")
"""What AutoGraph puts in the place of Python's built-in functions; its ``_tf_float`` is ``float`` of a tensor."""

python_functions = _find("tensorflow.python.ops.script_ops", "_py_funcs")
"""The Python functions behind ``numpy_function`` and ``py_function`` ops, by the op's ``token``."""


mirrored_run = _find("tensorflow.python.distribute.mirrored_run")
"""How mirrored strategies run replicas: ``_call_for_each_replica`` starts a ``_MirroredReplicaThread`` for each. Its ``_MirroredReplicaContext`` has
the ``_merge_call`` in which they wait for each other."""


DefaultStrategy = _find("tensorflow.python.distribute.distribute_lib", "_DefaultDistributionStrategy")
"""The class of the strategy that is in force where the user chose none."""


def generated_lines() -> dict[tuple[str, int], tuple[str, int, str]]:
    """For the (file, line) of what AutoGraph made of the functions that this thread is in: file, line and function that it was made from."""
    found: dict[tuple[str, int], tuple[str, int, str]] = tf_stack._source_mapper_stacks[threading.get_ident()][-1].get_effective_source_map()
    return found


def whole_of(variable: Any) -> Any:
    """The distributed variable that a variable is one replica's part of, None for any other variable."""
    for holder in (variable, getattr(variable, "_handle", None)):  # TensorFlow notes it on the handle, formerly on the variable
        found = getattr(holder, "_distributed_container", None)
        if found is not None:
            return found()
    return None


op_definitions = _find("tensorflow.python.framework.op_def_registry")
"""``get(type)``: the definition of an op type, None for the name of a function."""

BaseResourceVariable = _find("tensorflow.python.ops.resource_variable_ops", "BaseResourceVariable")
"""What every ``tf.Variable`` of TensorFlow 2 is, made in whichever way."""

UnreadVariable = _find("tensorflow.python.ops.resource_variable_ops", "_UnreadVariable")
"""What ``assign`` hands back: another object for a variable that was made before."""

ResourceVariable = _find("tensorflow.python.ops.resource_variable_ops", "ResourceVariable")
"""A variable that has its first value when its ``__init__`` ends; that of the class above ends before."""

add_op_callback = _find("tensorflow.python.framework.op_callbacks", "add_op_callback")
"""Lets a function see each op after it was executed or added to a graph, in this thread."""

remove_op_callback = _find("tensorflow.python.framework.op_callbacks", "remove_op_callback")
"""Takes such a function off again."""

record = _find("tensorflow.python.eager.record")
"""``record_operation``: how a ``tf.custom_gradient`` function puts its result on the tapes."""

EagerTensorBase = _find("tensorflow.python.framework.ops", "_EagerTensorBase")
"""The class that holds ``numpy``, ``__float__`` and the other ways out of an eager tensor."""

op_library = _find("tensorflow.python.framework.op_def_library")
"""``apply_op``: adds an op to the default graph by its name, inputs and attributes."""

fast_path = _find("tensorflow.python.pywrap_tfe")
"""``TFE_Py_FastPathExecute(context, op type, name, *inputs and attributes)``: how generated wrappers run an eager op."""

should_record = _find("tensorflow.python.eager.record", "should_record_backprop")
"""Whether any tape of this thread tracks any of these tensors."""

AtomicFunction = _find("tensorflow.python.eager.polymorphic_function.atomic_function", "AtomicFunction")
"""A function of TensorFlow's runtime: ``name`` and ``graph``."""


def build_operation(op_type: str, inputs: list[Any], attributes: tuple[Any, ...]) -> Any:
    """Add an op to the default graph from what an op callback says of an eager one: flat inputs, and (name, value, name, value, …)."""
    definition = op_definitions.get(op_type)
    given = dict(zip(attributes[::2], attributes[1::2], strict=True))
    inferred: set[str] = set()
    keywords: dict[str, Any] = {}
    rest = list(inputs)
    for argument in definition.input_arg:
        inferred |= {argument.type_attr, argument.number_attr, argument.type_list_attr}
        if argument.number_attr or argument.type_list_attr:
            count = int(given[argument.number_attr]) if argument.number_attr else len(given[argument.type_list_attr])
            keywords[argument.name], rest = rest[:count], rest[count:]
        else:
            keywords[argument.name] = rest.pop(0)
    keywords.update((name, value) for name, value in given.items() if name not in inferred)
    built = op_library.apply_op(op_type, **keywords)
    while isinstance(built, list | tuple):
        built = built[0]
    return getattr(built, "op", built)


gradients_util = _find("tensorflow.python.ops.gradients_util")
"""``_GradientsHelper``: what every spelling of ``tf.gradients`` ends in."""


def has_function(graph: Any, body: Any) -> bool:
    """Whether the FuncGraph ``body`` was made a function of ``graph``; it stays one when an op that called it gets another body."""
    return any(getattr(f, "graph", None) is body for f in graph._functions.values())


eager_context = _find("tensorflow.python.eager.context", "context")
"""The eager context: its ``_seed`` is the global seed, its ``_rng`` what seeds of ops are drawn from after ``tf.random.set_seed``."""


def seed_quietly(seed: int) -> None:
    """What ``tf.random.set_seed`` does, but for the kernels: those of random ops that have run go on where they are."""
    context = eager_context()
    context._seed, context._rng = seed, Random(seed)


EagerTensor = _find("tensorflow.python.framework.ops", "EagerTensor")
"""The class of tensors that hold values."""

canonicalize_inputs = _find("tensorflow.python.eager.polymorphic_function.function_type_utils", "canonicalize_function_inputs")
"""``(args, kwargs, function_type)``: arguments as a function was traced with; its type then flattens them in the order of its placeholders."""


def operation_count(graph: Any) -> int:
    """How many ops ``graph`` has."""
    return len(graph.get_operations())


def python_function(token: bytes) -> Any:
    """The user's function behind a ``numpy_function`` or ``py_function`` op, None if it is gone."""
    found = python_functions.get(token.decode())
    return getattr(found, "_func", found)


def registered_operations() -> dict[str, Any]:
    """The definition of every op type that this process knows, by name, sorted."""
    session = _find("tensorflow.python.client.pywrap_tf_session")
    found = _find("tensorflow.core.framework.op_def_pb2", "OpList")()
    found.ParseFromString(session.TF_GetBuffer(session.TF_GetAllOpList()))
    return {definition.name: definition for definition in sorted(found.op, key=lambda d: d.name)}


def make_operation(graph: Any, definition: Any, inputs: list[Any], attributes: dict[str, Any]) -> Any:
    """Add an op of that definition to ``graph``; ``inputs`` holds a list for an argument that is one. Raises whatever TensorFlow raises."""
    flat = [t for value in inputs for t in (value if isinstance(value, list) else [value])]
    return graph._create_op_internal(definition.name, flat, dtypes=None, attrs=attributes, op_def=definition, compute_device=False)


ConcreteFunction = _find("tensorflow.python.eager.polymorphic_function.concrete_function", "ConcreteFunction")
"""One trace of a ``tf.function``. Its FuncGraph is taken to pieces when it goes, so whoever wants to read the graph must hold it."""


def owner_of(function: Any) -> Any:
    """The object whose method ``function`` is, None for a plain function. TensorFlow wraps the owner of a method that is a ``tf.function``."""
    for method in (function, getattr(function, "__wrapped__", None), getattr(function, "python_function", None)):
        owner = getattr(method, "__self__", None)
        if owner is not None:
            return getattr(owner, "target", owner)
    return None


trace_callbacks: list[Any] = getattr(_find("tensorflow.python.eager.polymorphic_function.transform"), "CONCRETE_FUNCTION_CALLBACKS", [])
"""Functions that TensorFlow calls with each new ConcreteFunction."""


@contextmanager
def unobserved() -> Iterator[None]:
    """Within this context no op callback of this thread is called: what is run is ours alone."""
    context = eager_context()
    before = context.invoking_op_callbacks
    context.invoking_op_callbacks = True
    try:
        yield
    finally:
        context.invoking_op_callbacks = before


load_functions = _find("tensorflow.python.saved_model.function_deserialization", "load_function_def_library")
"""Makes functions of a FunctionDefLibrary, those that they call first, under new names: ``{name in the library: ConcreteFunction}``."""

restore_gradients = _find("tensorflow.python.saved_model.function_deserialization", "_restore_gradient_functions")
"""``(graph, {new name: ConcreteFunction}, {})``: lets each call of such a function in ``graph`` be differentiated through its body."""

GraphDebugInfo = _find("tensorflow.core.framework.graph_debug_info_pb2", "GraphDebugInfo")
"""What ``debug/saved_model_debug_info.pb`` holds: for each ``op@function`` the stack that made it."""
