"""Prices and classes from two inputs; the third output, the features, is for looking at and has no loss."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(15)
numbers, kinds = np.random.rand(40, 6).astype("float32"), np.random.randint(0, 9, (40, 1))
prices, classes = np.random.rand(40, 1).astype("float32"), np.random.randint(0, 3, 40)

numbers_in = keras.Input((6,), name="numbers")
kinds_in = keras.Input((1,), dtype="int32", name="kinds")
kind = layers.Flatten()(layers.Embedding(9, 4, name="kind_embedding")(kinds_in))
features = layers.Dense(12, activation="relu", name="features")(layers.Concatenate()([numbers_in, kind]))
price = layers.Dense(1, name="price")(features)
class_ = layers.Dense(3, activation="softmax", name="class")(features)
model = keras.Model({"numbers": numbers_in, "kinds": kinds_in}, {"price": price, "class": class_, "features": features})
model.compile(
    "adam",
    loss={"price": "mae", "class": "sparse_categorical_crossentropy"},
    loss_weights={"price": 2.0, "class": 1.0},
)


def make_batch():
    return {"numbers": numbers[:8], "kinds": kinds[:8]}, {"price": prices[:8], "class": classes[:8]}


def main():
    history = model.fit({"numbers": numbers, "kinds": kinds}, {"price": prices, "class": classes}, batch_size=8, epochs=2, verbose=0)
    print({name: [value.hex() for value in values] for name, values in sorted(history.history.items())})


if __name__ == "__main__":
    main()
