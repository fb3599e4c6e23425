"""Peak memory of a process that checks a step eagerly, against one that only runs the step: ``python bench/eager_memory.py``.

Each is a process of its own, which prints its peak resident set (``ru_maxrss``) when it is done. Both import the same and build the same network. A
step whose values leave for NumPy is run several times; what the allocator does not give back between the runs is in the figure.
"""

from __future__ import annotations

import subprocess
import sys

LIMIT = 1.3
"""An eager check should not need more than this many times the memory of the step."""

SETUP = """
import resource, sys
import keras, tensorflow as tf
import tapetrace, tapetrace.capture.steps, tapetrace.checking
import tapetrace.capture.eager_step, tapetrace.capture.reruns, tapetrace.capture.perturbation, tapetrace.analysis.analyse
model = keras.applications.MobileNetV2(input_shape=(96, 96, 3), weights=None, classes=10)
optimizer = keras.optimizers.Adam(1e-3)
optimizer.build(model.trainable_variables)
loss_fn = keras.losses.SparseCategoricalCrossentropy()
scale = tf.Variable(1.0, name="scale")
images, labels = tf.random.normal([64, 96, 96, 3]), tf.zeros([64], tf.int32)

def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_fn(labels, model(images, training=True)) * {factor}
    variables = [*model.trainable_variables, scale]
    gradients = tape.gradient(loss, variables)
    optimizer.apply_gradients((g, v) for g, v in zip(gradients, variables) if g is not None and v is not scale)
    return loss

{action}
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""

STEPS = {"all connected": "scale", "a value leaves for NumPy": "float(scale + 1.0)"}


def peak(factor: str, action: str) -> float:
    """The peak of a process, in MiB."""
    done = subprocess.run([sys.executable, "-c", SETUP.format(factor=factor, action=action)], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1]) / 1024


def main() -> int:
    failed = False
    for name, factor in STEPS.items():
        alone = peak(factor, "train_step(images, labels)")
        checked = peak(factor, "tapetrace.check(train_step, images, labels, mode='eager')")
        ratio = checked / alone
        failed = failed or ratio > LIMIT
        print(f"{name}: the step peaks at {alone:.0f} MiB, the check at {checked:.0f} MiB, ratio {ratio:.2f}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
