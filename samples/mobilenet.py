"""Symptom: MobileNetV2 split between phone and server trains the server's half only; the phone's half stays as it was initialised.

A real network at its real size: 224 × 224 × 3, 158 trainable variables. The activations cross the network as 8-bit numbers.
"""

import keras
import tensorflow as tf

CUT = "block_12_add"

mobilenet = keras.applications.MobileNetV2(input_shape=(224, 224, 3), weights=None, classes=10, classifier_activation=None)
cut = mobilenet.get_layer(CUT).output
on_phone = keras.Model(mobilenet.input, cut, name="on_phone")
on_server = keras.Model(cut, mobilenet.output, name="on_server")
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.SGD(0.05)


def send(activations, bits=8):
    """What arrives at the server: each activation on one of 256 levels between the smallest and the largest."""
    low, high = tf.reduce_min(activations), tf.reduce_max(activations)
    step = (high - low) / (2.0**bits - 1.0)
    return tf.round((activations - low) / step)


def train_step(images, labels):
    with tf.GradientTape() as tape:
        received = send(on_phone(images, training=True))
        loss = loss_fn(labels, on_server(received, training=True))
    gradients = tape.gradient(loss, mobilenet.trainable_variables)
    optimizer.apply_gradients(zip(gradients, mobilenet.trainable_variables))
    return loss


def make_batch():
    return tf.random.uniform([2, 224, 224, 3], -1.0, 1.0), tf.constant([3, 7])
