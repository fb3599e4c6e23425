"""A sparse autoencoder: losses added inside layers, regularizers of all three kinds, a constraint."""

import keras
import numpy as np
from keras import layers, ops

keras.utils.set_random_seed(16)
rows = np.random.rand(40, 10).astype("float32")


class Sparse(layers.Layer):
    """Adds a loss that keeps the mean activation low, and has a temperature that only this loss trains."""

    def build(self, shape):
        self.temperature = self.add_weight(shape=(), initializer="ones", name="temperature")

    def call(self, x):
        mean = ops.mean(ops.sigmoid(x / self.temperature), axis=0)
        self.add_loss(0.1 * ops.sum(ops.square(mean - 0.05)))
        return x


model = keras.Sequential(
    [
        keras.Input((10,)),
        layers.Dense(6, activation="relu", kernel_regularizer="l2", bias_regularizer="l1", activity_regularizer=keras.regularizers.L1(1e-3)),
        Sparse(),
        layers.Dense(10, kernel_constraint="max_norm", kernel_regularizer=keras.regularizers.OrthogonalRegularizer(0.01)),
    ]
)
model.compile("adamax", "mse")


def make_batch():
    return rows[:8], rows[:8]


def main():
    history = model.fit(rows, rows, batch_size=8, epochs=2, verbose=0)
    print([value.hex() for value in history.history["loss"]])


if __name__ == "__main__":
    main()
