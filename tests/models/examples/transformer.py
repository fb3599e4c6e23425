"""Text classification by a transformer block, written as layers of one's own."""

import keras
import numpy as np
from keras import layers, ops

keras.utils.set_random_seed(7)
WORDS, LENGTH, WIDTH = 50, 12, 16
texts = np.random.randint(0, WORDS, (32, LENGTH))
labels = np.random.randint(0, 2, 32)


class Positions(layers.Layer):
    def __init__(self, length, words, width):
        super().__init__()
        self.token = layers.Embedding(words, width, name="token")
        self.position = layers.Embedding(length, width, name="position")

    def call(self, x):
        return self.token(x) + self.position(ops.arange(ops.shape(x)[-1]))


class Block(layers.Layer):
    def __init__(self, width, heads, hidden, rate=0.1):
        super().__init__()
        self.attention = layers.MultiHeadAttention(heads, width // heads, name="attention")
        self.feed_forward = keras.Sequential([layers.Dense(hidden, activation="gelu"), layers.Dense(width)], name="feed_forward")
        self.norm1, self.norm2 = layers.LayerNormalization(name="norm1"), layers.LayerNormalization(name="norm2")
        self.dropout1, self.dropout2 = layers.Dropout(rate), layers.Dropout(rate)

    def call(self, x, training=False):
        attended = self.dropout1(self.attention(x, x), training=training)
        x = self.norm1(x + attended)
        mixed = self.dropout2(self.feed_forward(x), training=training)
        return self.norm2(x + mixed)


inputs = keras.Input((LENGTH,), dtype="int32")
x = Positions(LENGTH, WORDS, WIDTH)(inputs)
x = Block(WIDTH, 2, 24)(x)
x = layers.GlobalAveragePooling1D()(x)
outputs = layers.Dense(2, activation="softmax")(layers.Dropout(0.1)(x))
model = keras.Model(inputs, outputs)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])


def make_batch():
    return texts[:8], labels[:8]


def main():
    history = model.fit(texts, labels, batch_size=8, epochs=2, verbose=0)
    print({name: [value.hex() for value in values] for name, values in history.history.items()})


if __name__ == "__main__":
    main()
