"""Translation with an LSTM encoder, an LSTM decoder that attends to it, embeddings and masks."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(6)
WORDS, WIDTH = 20, 12
source = np.random.randint(1, WORDS, (32, 7))
source[:, 5:] = 0
target = np.random.randint(1, WORDS, (32, 6))
target[:, 4:] = 0

source_in = keras.Input((None,), dtype="int32", name="source")
target_in = keras.Input((None,), dtype="int32", name="target")
embedded = layers.Embedding(WORDS, WIDTH, mask_zero=True, name="source_words")(source_in)
encoded, h, c = layers.LSTM(WIDTH, return_sequences=True, return_state=True, name="encoder")(embedded)
words = layers.Embedding(WORDS, WIDTH, mask_zero=True, name="target_words")(target_in)
decoded = layers.LSTM(WIDTH, return_sequences=True, name="decoder")(words, initial_state=[h, c])
context = layers.Attention(name="attention")([decoded, encoded])
joined = layers.Concatenate()([decoded, context])
logits = layers.Dense(WORDS, name="logits")(joined)
model = keras.Model([source_in, target_in], logits, name="seq2seq")
model.compile("rmsprop", keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0))


def make_batch():
    return [source[:8], target[:8, :-1]], target[:8, 1:]


def main():
    history = model.fit([source, target[:, :-1]], target[:, 1:], batch_size=8, epochs=2, verbose=0)
    print([value.hex() for value in history.history["loss"]])


if __name__ == "__main__":
    main()
