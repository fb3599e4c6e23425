"""Which operator of Python led into TensorFlow: ``x > y`` calls functions that no line of the user's names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

_NAMES = {
    ast.Add: "add", ast.Sub: "sub subtract", ast.Mult: "mul multiply", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow",
    ast.MatMult: "matmul", ast.Gt: "gt greater", ast.GtE: "ge greater_equal", ast.Lt: "lt less", ast.LtE: "le less_equal", ast.Eq: "eq tensor_equals",
    ast.NotEq: "ne tensor_not_equals", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.USub: "neg", ast.Invert: "invert",
    ast.Subscript: "getitem slice_helper",
}  # fmt: skip
"""What functions behind each operator are called, in TensorFlow and in the variables of Keras."""

_BY_NAME = {name: f"<{kind.__name__}>" for kind, names in _NAMES.items() for name in names.split()}
_MIRRORED = {"<Gt>": "<Lt>", "<Lt>": "<Gt>", "<GtE>": "<LtE>", "<LtE>": "<GtE>"}
_OF_TENSORS = ("/ops/override_binary_operator.py", "/ops/tensor_math_operator_overrides.py", "/ops/tensor_getitem_override.py")
_OF_VARIABLES = ("/ops/variables.py", "/common/variables.py")


def operator_of(deeper: Sequence[tuple[str, str]]) -> str:
    """The operator, such as ``<Gt>``, through which these files and functions were entered, outermost first; "" if they were called by name."""
    if not deeper:
        return ""
    file, function = deeper[0][0].replace("\\", "/"), deeper[0][1]
    if function == "neg":
        return "<USub>"
    if not file.endswith(_OF_TENSORS) and not (file.endswith(_OF_VARIABLES) and (function == "_run_op" or function.startswith("__"))):
        return ""
    return next(filter(None, (_BY_NAME.get(_plain(name)) for _, name in deeper)), "")


def operators_in(node: ast.AST) -> Iterator[str]:
    """The operators that an expression applies itself. With a constant on the left a comparison is made the other way round."""
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.AugAssign)):
        yield f"<{type(node.op).__name__}>"
    elif isinstance(node, ast.Subscript):
        yield "<Subscript>"
    elif isinstance(node, ast.Compare):
        for left, kind in zip([node.left, *node.comparators], node.ops, strict=False):
            name = f"<{type(kind).__name__}>"
            yield _MIRRORED.get(name, name) if isinstance(left, ast.Constant) else name


def _plain(function: str) -> str:
    """``_subtract_factory`` and ``__rsub__`` without what is around the name."""
    name = function.strip("_").removesuffix("_factory").removesuffix("_dispatch").removesuffix("_wrapper")
    return name.removeprefix("r") if function.startswith("__r") else name
