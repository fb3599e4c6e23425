"""Nothing is wrong: u'' = -sin(x) by a physics-informed network; three nested tapes, the outermost through both derivatives."""

import keras
import tensorflow as tf

net = keras.Sequential(
    [
        keras.Input((1,)),
        keras.layers.Dense(20, activation="tanh", name="hidden1"),
        keras.layers.Dense(20, activation="tanh", name="hidden2"),
        keras.layers.Dense(1, name="u"),
    ],
    name="net",
)
optimizer = keras.optimizers.Adam(1e-3)


def second_derivative(x):
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape() as first:
            first.watch(x)
            u = net(x)
        u_x = first.gradient(u, x)
    return second.gradient(u_x, x)


@tf.function
def train_step(x, boundary):
    with tf.GradientTape() as tape:
        physics = tf.reduce_mean(tf.square(second_derivative(x) + tf.sin(x)))
        ends = tf.reduce_mean(tf.square(net(boundary) - tf.sin(boundary)))
        loss = physics + ends
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))
    return loss


def make_batch():
    return tf.random.uniform([32, 1], 0.0, 3.14159), tf.constant([[0.0], [3.14159]])
