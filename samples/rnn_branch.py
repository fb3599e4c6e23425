"""Symptom: the memory cell of my recurrent net trains in some steps and gets a gradient of exactly zero in others."""

import keras
import tensorflow as tf

UNITS = 16

cell = keras.layers.Dense(UNITS, activation="tanh", name="cell")
memory = keras.layers.Dense(UNITS, activation="tanh", name="memory")
readout = keras.layers.Dense(1, name="readout")
cell.build([None, 4 + UNITS])
memory.build([None, UNITS])
readout.build([None, UNITS])
variables = cell.trainable_variables + memory.trainable_variables + readout.trainable_variables
optimizer = keras.optimizers.Adam(1e-3)


def unroll(sequence):
    state = tf.zeros([tf.shape(sequence)[1], UNITS])
    for x in sequence:
        state = cell(tf.concat([x, state], axis=-1))
        if tf.reduce_mean(tf.abs(x)) > 0.8:
            state = memory(state)
    return readout(state)


def train_step(sequence, target):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(unroll(sequence) - target))
    gradients = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(gradients, variables))
    return loss


def make_batch():
    """Time first: 5 steps of 8 sequences with 4 features."""
    return tf.random.normal([5, 8, 4]), tf.random.normal([8, 1])
