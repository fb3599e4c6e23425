"""Transfer learning: a base that is frozen first and partly thawed later, its BatchNormalization in inference mode."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(21)
images, labels = np.random.rand(16, 32, 32, 3).astype("float32"), np.random.randint(0, 4, 16)

base = keras.Sequential(
    [
        keras.Input((32, 32, 3)),
        layers.Conv2D(4, 3, strides=2, name="stem"),
        layers.BatchNormalization(name="stem_norm"),
        layers.ReLU(),
        layers.Conv2D(8, 3, strides=2, name="top"),
        layers.BatchNormalization(name="top_norm"),
        layers.ReLU(),
    ],
    name="base",
)
base.trainable = False

inputs = keras.Input((32, 32, 3))
x = layers.Rescaling(2.0, -1.0)(inputs)
x = base(x, training=False)
x = layers.GlobalAveragePooling2D()(x)
model = keras.Model(inputs, layers.Dense(4, activation="softmax", name="head")(layers.Dropout(0.2)(x)))
model.compile(keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy")


def make_batch():
    return images[:4], labels[:4]


def main():
    first = model.fit(images, labels, batch_size=4, epochs=1, verbose=0)
    base.trainable = True
    for layer in base.layers[:-3]:
        layer.trainable = False
    model.compile(keras.optimizers.Adam(1e-4), "sparse_categorical_crossentropy")
    second = model.fit(images, labels, batch_size=4, epochs=1, verbose=0)
    print(first.history["loss"][0].hex(), second.history["loss"][0].hex())


if __name__ == "__main__":
    main()
