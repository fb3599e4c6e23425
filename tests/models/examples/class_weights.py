"""Rare classes count more: class_weight, one-hot labels, a focal loss, a bias that starts at the odds."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(18)
rows, labels = np.random.rand(60, 5).astype("float32"), (np.random.rand(60) > 0.9).astype("int32")
odds = float(np.log((labels.sum() + 1) / (len(labels) - labels.sum() + 1)))

inputs = keras.Input((5,))
x = layers.Dense(8, activation="relu", name="hidden")(inputs)
logits = layers.Dense(1, bias_initializer=keras.initializers.Constant(odds), name="logits")(x)
model = keras.Model(inputs, logits)
model.compile("adagrad", keras.losses.BinaryFocalCrossentropy(from_logits=True), metrics=[keras.metrics.AUC(from_logits=True, name="auc")])


def make_batch():
    return rows[:8], labels[:8, None]


def main():
    history = model.fit(rows, labels[:, None], class_weight={0: 0.5, 1: 5.0}, batch_size=10, epochs=2, verbose=0)
    print({name: [float(value).hex() for value in values] for name, values in history.history.items()})


if __name__ == "__main__":
    main()
