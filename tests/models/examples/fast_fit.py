"""Training made quick: several steps an execution, XLA, a cached data set, callbacks."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(17)
rows, labels = np.random.rand(64, 8).astype("float32"), np.random.randint(0, 2, (64, 1)).astype("float32")
data = tf.data.Dataset.from_tensor_slices((rows, labels)).cache().shuffle(64, seed=2).batch(8, drop_remainder=True).prefetch(1)

model = keras.Sequential(
    [keras.Input((8,)), layers.Dense(16, activation="relu"), layers.Dense(8, activation="relu"), layers.Dense(1, activation="sigmoid")]
)
model.compile("nadam", "binary_crossentropy", metrics=["accuracy"], steps_per_execution=4, jit_compile=True)


def make_batch():
    return rows[:8], labels[:8]


def main():
    callbacks = [
        keras.callbacks.EarlyStopping("loss", patience=2),
        keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5),
        keras.callbacks.TerminateOnNaN(),
    ]
    history = model.fit(data, epochs=3, callbacks=callbacks, verbose=0)
    print({name: [float(value).hex() for value in values] for name, values in history.history.items()})


if __name__ == "__main__":
    main()
