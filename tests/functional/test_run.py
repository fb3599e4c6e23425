"""``tapetrace run``: scripts and modules as Python runs them, with the same output, and the report at the end on standard error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TRAINING = """
import random, sys
import numpy as np
import tensorflow as tf
import keras

print(sys.argv, __name__, sys.path[0], __file__, __spec__)
keras.utils.set_random_seed(int(sys.argv[1]))
w, v = tf.Variable(tf.random.normal([4, 3]), name="w"), tf.Variable(tf.ones([3]), name="v")
dropout, optimizer = keras.layers.Dropout(0.4), keras.optimizers.Adam(0.01)
for i in range(5):
    x = tf.random.normal([5, 4])
    with tf.GradientTape() as tape:
        scale = tf.exp(v)
        loss = tf.reduce_mean((dropout(tf.nn.relu(x @ w) * scale, training=True) + tf.random.uniform([5, 3])) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, [w]), [w]))
    print(i, float(loss).hex(), random.random(), np.random.rand())
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8, activation="relu"), keras.layers.Dropout(0.5), keras.layers.Dense(1)])
sgd = keras.optimizers.SGD(0.05, momentum=0.9)


@tf.function
def train(x, y, training=True):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x + tf.random.normal(tf.shape(x)), training=training) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    sgd.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for i in range(4):
    print(i, float(train(tf.random.normal([6, 4]), tf.random.normal([6, 1]), training=i != 2)).hex())
fitted = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), keras.layers.GaussianNoise(0.1), keras.layers.Dense(1)])
fitted.compile("adam", "mse")
print([v.hex() for v in fitted.fit(np.random.rand(23, 4), np.random.rand(23, 1), batch_size=4, epochs=2, verbose=0).history["loss"]])
print(fitted.get_weights()[0].tobytes().hex(), tf.random.normal([2]).numpy().tobytes().hex(), random.random(), np.random.rand())
"""

ENDING = """
import sys
import tensorflow as tf

w, v = tf.Variable([1.0, 2.0], name="w"), tf.Variable([1.0, 2.0], name="v")
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(w * tf.stop_gradient(v))
tape.gradient(loss, [w, v] if "broken" in sys.argv else [w])
print("hello")
exec(sys.argv[1])
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=500)


def tapetrace(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run(folder, "-m", "tapetrace", "run", *arguments)


def test_the_output_of_a_script_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/train.py").write_text(TRAINING)
    plain = run(tmp_path, "sub/train.py", "7", "--format", "x")
    seen = tapetrace(tmp_path, "-o", "report.json", "--format", "text", "sub/train.py", "7", "--format", "x")
    assert plain.returncode == 0, plain.stderr
    assert seen.stdout == plain.stdout
    assert seen.returncode == 0, seen.stderr
    assert "receive gradient" in seen.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["target"] == "sub/train.py"
    assert report["mode"] == "mixed"
    assert len(report["calls"]) == 4
    assert [c["inputs"] for c in report["calls"][1:3]] == ["training=True", "training=False"]
    assert [f["path"] for f in report["not_asked"]] == ["v"]
    assert report["not_asked"][0]["location"]["line"] == 9  # where it was made: watched from the first import on


@pytest.mark.parametrize(
    ("ending", "code", "said", "told"),
    [
        ("pass", 0, "", "✓ 1 of 1 variable receives gradient"),
        ("pass #broken", 0, "", "✓ 1 of 1 variable receives gradient"),
        ("sys.exit(7)", 7, "", "✓ 1 of 1 variable receives gradient"),
        ("sys.exit('bye')", 1, "bye", "✓ 1 of 1 variable receives gradient"),
        ("raise ValueError('boom')", 1, "ValueError: boom", "✗ the step itself raised ValueError: boom"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt", "it was interrupted"),
    ],
)
def test_the_exit_code_is_the_scripts_own(tmp_path: Path, ending: str, code: int, said: str, told: str) -> None:
    (tmp_path / "script.py").write_text(ENDING)
    ended = tapetrace(tmp_path, "script.py", ending)
    assert (ended.returncode, ended.stdout) == (code, "hello\n")
    assert said in ended.stderr
    assert told in ended.stderr
    assert "running.py" not in ended.stderr


def test_a_module_whose_gradients_are_broken(tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "train.py").write_text(ENDING + "print(__name__, __package__, __spec__.name, sys.argv[0] == __file__)\n")
    ended = tapetrace(tmp_path, "-m", "pkg.train", "pass", "broken")
    assert ended.stdout == "hello\n__main__ pkg pkg.train True\n"
    assert ended.returncode == 1
    assert "stop_gradient (StopGradient)    pkg/train.py:7" in ended.stderr
    frozen = tapetrace(tmp_path, "--frozen", "v", "-m", "pkg.train", "pass", "broken")
    assert frozen.returncode == 0, frozen.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.py"], "tapetrace: none.py never imported TensorFlow, so there was no gradient call to see."),
        (["nine.py"], "nine.py cannot be read (No such file or directory), did you mean none.py?"),
        (["wrong.py"], "wrong.py is not Python"),
        (["-m", "nowhere.at_all"], "the module nowhere.at_all cannot be found"),
        ([".",], ". is a folder"),
        (["-o", "report.xyz", "none.py"], "names no format"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    (tmp_path / "none.py").write_text("print('hi')\n")
    (tmp_path / "wrong.py").write_text("print('hi'\n")
    ended = tapetrace(tmp_path, *arguments)
    assert ended.returncode == 2
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr


def test_replicas_are_told_of_once(tmp_path: Path) -> None:
    (tmp_path / "mirrored.py").write_text(
        "import numpy as np, tensorflow as tf, keras\n"
        "cpu = tf.config.list_physical_devices('CPU')[0]\n"
        "tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)\n"
        "with tf.distribute.MirroredStrategy(['CPU:0', 'CPU:1']).scope():\n"
        "    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2), keras.layers.Dense(1)])\n"
        "    model.compile('sgd', 'mse')\n"
        "model.fit(np.ones((8, 4)), np.ones((8, 1)), batch_size=4, verbose=0)\n"
    )
    ended = tapetrace(tmp_path, "mirrored.py")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("✓ 4 of 4 variables receive gradient") == 1
