"""Symptom: I want to train on the accuracy itself, since that is what I report. Keras says "No gradients provided for any variable"."""

import keras
import tensorflow as tf

model = keras.Sequential(
    [
        keras.Input((12, 12, 1)),
        keras.layers.Conv2D(8, 3, activation="relu", name="conv"),
        keras.layers.Flatten(name="flatten"),
        keras.layers.Dense(10, name="logits"),
    ],
    name="classifier",
)
optimizer = keras.optimizers.Adam(1e-3)


def error_rate(labels, logits):
    predicted = tf.argmax(logits, axis=-1, output_type=tf.int32)
    correct = tf.cast(tf.equal(predicted, labels), tf.float32)
    return 1.0 - tf.reduce_mean(correct)


def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = error_rate(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def make_batch():
    return tf.random.uniform([8, 12, 12, 1]), tf.random.uniform([8], maxval=10, dtype=tf.int32)
