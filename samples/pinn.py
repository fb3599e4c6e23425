"""Symptom: my network for Burgers' equation fits the boundary data and ignores the physics: the residual's derivatives are all zero."""

import keras
import tensorflow as tf

VISCOSITY = 0.01
CELLS = 100.0

net = keras.Sequential(
    [
        keras.Input((2,)),
        keras.layers.Dense(20, activation="tanh", name="hidden1"),
        keras.layers.Dense(20, activation="tanh", name="hidden2"),
        keras.layers.Dense(1, name="u"),
    ],
    name="net",
)
optimizer = keras.optimizers.Adam(1e-3)


def solution(x, t):
    """The grid of the reference solver, so that both can be compared point by point."""
    x_cell = tf.floor(x * CELLS) / CELLS
    return net(tf.concat([x_cell, t], axis=1))


def residual(x, t):
    zero = tf.UnconnectedGradients.ZERO
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape(persistent=True) as first:
            first.watch([x, t])
            u = solution(x, t)
        u_x = first.gradient(u, x, unconnected_gradients=zero)
        u_t = first.gradient(u, t)
    u_xx = second.gradient(u_x, x, unconnected_gradients=zero)
    return u_t + u * u_x - VISCOSITY * u_xx


def train_step(x, t, x_data, t_data, u_data):
    with tf.GradientTape() as tape:
        physics = tf.reduce_mean(tf.square(residual(x, t)))
        data = tf.reduce_mean(tf.square(solution(x_data, t_data) - u_data))
        loss = physics + data
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))
    return loss


def make_batch():
    x, x_data = tf.random.uniform([32, 1], -1.0, 1.0), tf.random.uniform([16, 1], -1.0, 1.0)
    return x, tf.random.uniform([32, 1]), x_data, tf.zeros([16, 1]), -tf.sin(3.14159 * x_data)
