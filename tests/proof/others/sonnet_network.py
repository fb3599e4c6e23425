"""Sonnet's modules, a recurrent one among them, trained by its own optimizer, traced and eager."""

import numpy as np
import sonnet as snt
import tensorflow as tf

tf.random.set_seed(4)
random = np.random.default_rng(4)
network = snt.Sequential([snt.Linear(8), tf.nn.relu, snt.Linear(4)])
core, norm = snt.LSTM(6), snt.LayerNorm(-1, create_scale=True, create_offset=True)
optimizer = snt.optimizers.Adam(0.01)
x = tf.constant(random.normal(size=(5, 3, 4)).astype("float32"))


def step(x: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        outputs, _ = snt.dynamic_unroll(core, x, core.initial_state(3))
        loss = tf.reduce_mean(tf.square(network(norm(outputs)) - x))
    variables = network.trainable_variables + core.trainable_variables + norm.trainable_variables
    optimizer.apply(tape.gradient(loss, variables), variables)
    return loss


for _ in range(3):
    print(f"{float(step(x)):.6g}")
traced = tf.function(step)
for _ in range(10):
    print(f"{float(traced(x)):.6g}")
