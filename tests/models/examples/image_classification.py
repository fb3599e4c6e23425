"""Pictures of digits, told apart by a small convolutional network that is trained with ``fit``."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(1)
images = np.random.rand(64, 28, 28, 1).astype("float32")
labels = np.random.randint(0, 10, 64)

model = keras.Sequential(
    [
        keras.Input((28, 28, 1)),
        layers.RandomTranslation(0.1, 0.1),
        layers.Conv2D(8, 3, use_bias=False),
        layers.BatchNormalization(),
        layers.ReLU(),
        layers.MaxPooling2D(),
        layers.Conv2D(16, 3, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dropout(0.3),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])


def make_batch():
    return images[:8], labels[:8]


def main():
    history = model.fit(images, labels, batch_size=16, epochs=2, validation_split=0.25, verbose=0)
    print({name: [value.hex() for value in values] for name, values in history.history.items()})
    print(model.predict(images[:4], verbose=0).argmax(axis=1))


if __name__ == "__main__":
    main()
