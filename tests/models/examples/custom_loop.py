"""A training loop of one's own over tf.data, in a tf.function, with validation and a learning rate that falls."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(11)
rows = np.random.rand(40, 6).astype("float32")
labels = np.random.randint(0, 3, 40)
train = tf.data.Dataset.from_tensor_slices((rows, labels)).shuffle(40, seed=1).batch(8)

model = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="relu"), layers.BatchNormalization(), layers.Dropout(0.2), layers.Dense(3)])
optimizer = keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9), momentum=0.9, nesterov=True)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
accuracy = keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = loss_fn(y, logits)
    grads = tape.gradient(loss, model.trainable_weights)
    optimizer.apply_gradients(zip(grads, model.trainable_weights))
    accuracy.update_state(y, logits)
    return loss


@tf.function
def test_step(x, y):
    return loss_fn(y, model(x, training=False))


def make_batch():
    return rows[:8], labels[:8]


def main():
    for epoch in range(2):
        for x, y in train:
            loss = train_step(x, y)
        print(epoch, float(loss).hex(), float(accuracy.result()).hex(), float(test_step(rows, labels)).hex())
        accuracy.reset_state()


if __name__ == "__main__":
    main()
