"""A VQ-VAE: the nearest code is looked up, and the gradient is carried past the lookup (straight through)."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(29)
rows = np.random.rand(32, 12).astype("float32")


class Quantizer(layers.Layer):
    def __init__(self, codes, width, beta=0.25):
        super().__init__()
        self.codes, self.width, self.beta = codes, width, beta

    def build(self, shape):
        self.book = self.add_weight(shape=(self.width, self.codes), initializer="uniform", name="book")

    def call(self, x):
        book = tf.convert_to_tensor(self.book)
        distances = tf.reduce_sum(x**2, axis=1, keepdims=True) + tf.reduce_sum(book**2, axis=0) - 2 * tf.matmul(x, book)
        nearest = tf.one_hot(tf.argmin(distances, axis=1), self.codes)
        quantized = tf.matmul(nearest, book, transpose_b=True)
        self.add_loss(self.beta * tf.reduce_mean((tf.stop_gradient(quantized) - x) ** 2))
        self.add_loss(tf.reduce_mean((quantized - tf.stop_gradient(x)) ** 2))
        return x + tf.stop_gradient(quantized - x)


model = keras.Sequential(
    [
        keras.Input((12,)),
        layers.Dense(8, activation="relu", name="encoder"),
        layers.Dense(4, name="code"),
        Quantizer(10, 4),
        layers.Dense(12, name="decoder"),
    ]
)
model.compile("adam", "mse")


def make_batch():
    return rows[:8], rows[:8]


def main():
    history = model.fit(rows, rows, batch_size=8, epochs=2, verbose=0)
    print([value.hex() for value in history.history["loss"]])


if __name__ == "__main__":
    main()
