"""Half precision: losses scaled by hand in a loop, float32 at the end."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(13)
half = keras.DTypePolicy("mixed_float16")
rows, labels = np.random.rand(32, 12).astype("float32"), np.random.randint(0, 4, 32)

inputs = keras.Input((12,))
x = layers.Dense(16, activation="relu", dtype=half, name="first")(inputs)
x = layers.Dense(16, activation="relu", dtype=half, name="second")(x)
x = layers.Dense(4, dtype=half, name="logits")(x)
model = keras.Model(inputs, layers.Activation("softmax", dtype="float32")(x))
optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.RMSprop(1e-3))
loss_fn = keras.losses.SparseCategoricalCrossentropy()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        predictions = model(x, training=True)
        loss = loss_fn(y, predictions)
        scaled = optimizer.scale_loss(loss)
    gradients = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def make_batch():
    return rows[:8], labels[:8]


def main():
    for step in range(4):
        print(step, float(train_step(rows[8 * step : 8 * step + 8], labels[8 * step : 8 * step + 8])).hex())


if __name__ == "__main__":
    main()
