"""Symptom: I want the gradient with respect to the input image, for an adversarial example, and get None."""

import keras
import tensorflow as tf

EPSILON = 0.03

model = keras.Sequential(
    [
        keras.Input((12, 12, 1)),
        keras.layers.Conv2D(8, 3, activation="relu", name="conv"),
        keras.layers.Flatten(name="flatten"),
        keras.layers.Dense(10, name="logits"),
    ],
    name="victim",
)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def train_step(image, label):
    with tf.GradientTape() as tape:
        loss = loss_fn(label, model(image))
    gradient = tape.gradient(loss, image)
    return tf.clip_by_value(image + EPSILON * tf.sign(gradient), 0.0, 1.0)


def make_batch():
    return tf.random.uniform([4, 12, 12, 1]), tf.random.uniform([4], maxval=10, dtype=tf.int32)
