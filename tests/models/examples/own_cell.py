"""A recurrent cell of one's own, stacked with a built-in one, under keras.layers.RNN."""

import keras
import numpy as np
from keras import layers, ops

keras.utils.set_random_seed(20)
series, targets = np.random.rand(32, 9, 3).astype("float32"), np.random.rand(32, 1).astype("float32")


class MinimalGatedCell(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = self.output_size = units

    def build(self, shape):
        width = shape[-1] + self.units
        self.forget = self.add_weight(shape=(width, self.units), name="forget")
        self.candidate = self.add_weight(shape=(width, self.units), name="candidate")
        self.bias = self.add_weight(shape=(self.units,), initializer="ones", name="bias")

    def call(self, x, states):
        h = states[0]
        f = ops.sigmoid(ops.matmul(ops.concatenate([x, h], axis=-1), self.forget) + self.bias)
        new = ops.tanh(ops.matmul(ops.concatenate([x, f * h], axis=-1), self.candidate))
        h = (1 - f) * h + f * new
        return h, [h]


model = keras.Sequential(
    [keras.Input((9, 3)), layers.RNN([MinimalGatedCell(6, name="own"), layers.GRUCell(5, name="gru")], name="rnn"), layers.Dense(1)]
)
model.compile("rmsprop", "huber")


def make_batch():
    return series[:8], targets[:8]


def main():
    history = model.fit(series, targets, batch_size=8, epochs=2, verbose=0)
    print([value.hex() for value in history.history["loss"]])


if __name__ == "__main__":
    main()
