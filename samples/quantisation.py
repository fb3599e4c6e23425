"""Symptom: quantisation-aware training changes only biases and scales; the kernels keep their initial values."""

import keras
import tensorflow as tf


class QuantizedDense(keras.layers.Layer):
    def __init__(self, units, bits=8, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.top = 2.0 ** (bits - 1) - 1

    def build(self, input_shape):
        self.kernel = self.add_weight(name="kernel", shape=(input_shape[-1], self.units), initializer="glorot_uniform")
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")
        self.scale = self.add_weight(name="scale", shape=(), initializer=keras.initializers.Constant(0.01))

    def call(self, x):
        levels = tf.clip_by_value(self.kernel / self.scale, -self.top, self.top)
        kernel = tf.round(levels) * self.scale
        return x @ kernel + self.bias


model = keras.Sequential(
    [keras.Input((16,)), QuantizedDense(32, name="q1"), keras.layers.ReLU(name="relu"), QuantizedDense(10, name="q2")], name="quantized"
)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.SGD(0.1)


def train_step(x, labels):
    with tf.GradientTape() as tape:
        loss = loss_fn(labels, model(x, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def make_batch():
    return tf.random.normal([8, 16]), tf.random.uniform([8], maxval=10, dtype=tf.int32)
