"""A siamese network with a triplet loss: one embedding, used three times, and a metric of one's own."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(8)
anchors, positives, negatives = (np.random.rand(24, 16, 16, 1).astype("float32") for _ in range(3))

embedding = keras.Sequential(
    [
        keras.Input((16, 16, 1)),
        layers.Conv2D(4, 3, activation="relu"),
        layers.Flatten(),
        layers.Dense(12, activation="relu"),
        layers.BatchNormalization(),
        layers.Dense(6),
        layers.UnitNormalization(),
    ],
    name="embedding",
)


class Distance(layers.Layer):
    def call(self, anchor, positive, negative):
        near = tf.reduce_sum(tf.square(anchor - positive), -1)
        far = tf.reduce_sum(tf.square(anchor - negative), -1)
        return near, far


a, p, n = keras.Input((16, 16, 1)), keras.Input((16, 16, 1)), keras.Input((16, 16, 1))
distances = Distance()(embedding(a), embedding(p), embedding(n))


class Siamese(keras.Model):
    def __init__(self, network, margin=0.5):
        super().__init__()
        self.network, self.margin = network, margin
        self.tracker = keras.metrics.Mean(name="loss")

    def call(self, inputs):
        return self.network(inputs)

    def triplet_loss(self, data):
        near, far = self.network(data)
        return tf.reduce_mean(tf.maximum(near - far + self.margin, 0.0))

    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = self.triplet_loss(data[0])
        gradients = tape.gradient(loss, self.network.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.network.trainable_weights))
        self.tracker.update_state(loss)
        return {"loss": self.tracker.result()}


model = Siamese(keras.Model([a, p, n], distances))
model.compile(optimizer=keras.optimizers.Adam(1e-3))


def make_batch():
    return ([anchors[:8], positives[:8], negatives[:8]],)


def main():
    batches = tf.data.Dataset.from_tensor_slices(((anchors, positives, negatives),)).batch(8)
    history = model.fit(batches, epochs=2, verbose=0)
    print([value.hex() for value in history.history["loss"]])


if __name__ == "__main__":
    main()
