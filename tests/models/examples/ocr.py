"""Reading text off a picture: convolutions, a bidirectional LSTM, the CTC loss."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(28)
strips, texts = np.random.rand(16, 32, 8, 1).astype("float32"), np.random.randint(1, 11, (16, 3))

inputs = keras.Input((32, 8, 1))
x = layers.Conv2D(4, 3, padding="same", activation="relu", name="conv")(inputs)
x = layers.Reshape((16, 16))(layers.MaxPooling2D()(x))
x = layers.Dense(8, activation="relu", name="squeeze")(x)
x = layers.Bidirectional(layers.LSTM(6, return_sequences=True), name="lstm")(x)
model = keras.Model(inputs, layers.Dense(12, name="letters")(x))
model.compile("adam", keras.losses.CTC())


def make_batch():
    return strips[:4], texts[:4]


def main():
    history = model.fit(strips, texts, batch_size=4, epochs=1, verbose=0)
    print([value.hex() for value in history.history["loss"]])


if __name__ == "__main__":
    main()
