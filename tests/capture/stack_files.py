"""Files that stand in stacks: the user's, TensorFlow's, those of other libraries, and tapetrace's."""

from __future__ import annotations

from pathlib import Path

import tensorflow as tf

import tapetrace

OURS = Path(tapetrace.__file__).parent
TENSORFLOW = Path(tf.__file__).parent
MATH = str(TENSORFLOW / "python/ops/math_ops.py")
WRAPPED = str(TENSORFLOW / "python/ops/gen_math_ops.py")
OPS = str(TENSORFLOW / "python/framework/ops.py")
INSTALLED = "/opt/venv/lib/python3.11/site-packages"

USER, TEST, API, CAPTURE = "/home/me/train.py", "/home/me/test_train.py", str(OURS / "api.py"), str(OURS / "capture/tapes.py")
