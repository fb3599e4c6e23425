"""Symptom: a loss with Python control flow runs in tf.py_function. Does it train? TensorFlow returns a tensor, which proves nothing."""

import keras
import tensorflow as tf

model = keras.Sequential(
    [keras.Input((8,)), keras.layers.Dense(16, activation="relu", name="hidden"), keras.layers.Dense(1, name="out")], name="ranker"
)
optimizer = keras.optimizers.Adam(1e-3)


def pairwise_hinge(scores, relevance):
    """Every pair in which the first is more relevant than the second."""
    terms = [tf.nn.relu(1.0 - (scores[i] - scores[j])) for i in range(len(relevance)) for j in range(len(relevance)) if relevance[i] > relevance[j]]
    return tf.add_n(terms) / len(terms)


def train_step(x, relevance):
    with tf.GradientTape() as tape:
        scores = tf.squeeze(model(x, training=True), axis=-1)
        loss = tf.py_function(pairwise_hinge, [scores, relevance], tf.float32)
        loss.set_shape([])
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def make_batch():
    return tf.random.normal([6, 8]), tf.constant([0.0, 1.0, 2.0, 0.0, 1.0, 2.0])
