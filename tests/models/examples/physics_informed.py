"""A physics-informed network for u_t = k u_xx: derivatives of the network by its inputs, first and second, stand in the loss."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(10)
K = 0.1
network = keras.Sequential(
    [keras.Input((2,)), keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(16, activation="tanh"), keras.layers.Dense(1)], name="u"
)
optimizer = keras.optimizers.Adam(1e-2)


def residual(x, t):
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape(persistent=True) as first:
            first.watch([x, t])
            u = network(tf.concat([x, t], axis=1))
        u_x = first.gradient(u, x)
        u_t = first.gradient(u, t)
    u_xx = second.gradient(u_x, x)
    return u_t - K * u_xx


@tf.function
def train_step(x, t, x0, u0):
    with tf.GradientTape() as tape:
        inside = tf.reduce_mean(tf.square(residual(x, t)))
        start = network(tf.concat([x0, tf.zeros_like(x0)], axis=1))
        loss = inside + tf.reduce_mean(tf.square(start - u0))
    grads = tape.gradient(loss, network.trainable_variables)
    optimizer.apply_gradients(zip(grads, network.trainable_variables))
    return loss


def make_batch(rows=16):
    x, t = (np.random.rand(rows, 1).astype("float32") for _ in range(2))
    x0 = np.linspace(0, 1, rows, dtype="float32")[:, None]
    return tf.constant(x), tf.constant(t), tf.constant(x0), tf.constant(np.sin(np.pi * x0))


def main():
    for step in range(6):
        loss = train_step(*make_batch())
        print(step, float(loss).hex())


if __name__ == "__main__":
    main()
