"""Symptom: the temperature of my contrastive loss stays at 0.07 to the last digit. No warning, no None, nothing."""

import keras
import tensorflow as tf


class Projector(keras.Model):
    def __init__(self):
        super().__init__(name="projector")
        self.hidden = keras.layers.Dense(32, activation="relu", name="hidden")
        self.out = keras.layers.Dense(16, name="out")
        self.temperature = tf.Variable(0.07, name="temperature")

    def call(self, x):
        return tf.math.l2_normalize(self.out(self.hidden(x)), axis=-1)


model = Projector()
model(tf.zeros([1, 24]))
optimizer = keras.optimizers.Adam(1e-3)


def info_nce(a, b):
    logits = tf.matmul(a, b, transpose_b=True) / model.temperature
    labels = tf.range(tf.shape(a)[0])
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


def train_step(view1, view2):
    with tf.GradientTape() as tape:
        loss = info_nce(model(view1), model(view2))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def make_batch():
    x = tf.random.normal([8, 24])
    return x + tf.random.normal([8, 24], stddev=0.1), x + tf.random.normal([8, 24], stddev=0.1)
