"""Moving pictures: ConvLSTM2D, TimeDistributed, Bidirectional, and a masked GRU after them."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(19)
clips, labels = np.random.rand(16, 4, 8, 8, 1).astype("float32"), np.random.randint(0, 3, 16)

inputs = keras.Input((4, 8, 8, 1))
x = layers.ConvLSTM2D(3, 3, padding="same", return_sequences=True, name="conv_lstm")(inputs)
x = layers.BatchNormalization(name="norm")(x)
x = layers.TimeDistributed(layers.Conv2D(4, 3, activation="relu"), name="frames")(x)
x = layers.TimeDistributed(layers.GlobalAveragePooling2D())(x)
x = layers.Bidirectional(layers.GRU(4, return_sequences=True), name="both_ways")(layers.Masking()(x))
x = layers.LSTM(4, name="last", go_backwards=True)(x)
model = keras.Model(inputs, layers.Dense(3, activation="softmax", name="classes")(x))
model.compile("adam", "sparse_categorical_crossentropy")


def make_batch():
    return clips[:4], labels[:4]


def main():
    history = model.fit(clips, labels, batch_size=4, epochs=1, verbose=0)
    print([value.hex() for value in history.history["loss"]])


if __name__ == "__main__":
    main()
