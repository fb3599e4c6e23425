"""Who likes what: embeddings of users and films, biases, a subclassed model; the gradients are sparse."""

import keras
import numpy as np
from keras import layers, ops

keras.utils.set_random_seed(27)
pairs = np.stack([np.random.randint(0, 12, 64), np.random.randint(0, 20, 64)], axis=1)
ratings = np.random.rand(64, 1).astype("float32")


class Recommender(keras.Model):
    def __init__(self, users, films, width=6):
        super().__init__()
        self.user = layers.Embedding(users, width, embeddings_regularizer=keras.regularizers.L2(1e-6), name="user")
        self.film = layers.Embedding(films, width, name="film")
        self.user_bias, self.film_bias = layers.Embedding(users, 1, name="user_bias"), layers.Embedding(films, 1, name="film_bias")

    def call(self, inputs):
        user, film = self.user(inputs[:, 0]), self.film(inputs[:, 1])
        match = ops.sum(user * film, axis=-1, keepdims=True)
        return ops.sigmoid(match + self.user_bias(inputs[:, 0]) + self.film_bias(inputs[:, 1]))


model = Recommender(12, 20)
model.compile("adam", "binary_crossentropy")


def make_batch():
    return pairs[:16], ratings[:16]


def main():
    history = model.fit(pairs, ratings, batch_size=16, epochs=2, verbose=0)
    print([value.hex() for value in history.history["loss"]])


if __name__ == "__main__":
    main()
