"""A graph network: messages gathered along edges, summed by node, twice."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(26)
NODES, EDGES = 14, 40
features = tf.constant(np.random.rand(NODES, 5).astype("float32"))
senders, receivers = (tf.constant(np.random.randint(0, NODES, EDGES)) for _ in range(2))
labels = tf.constant(np.random.randint(0, 3, NODES))


class GraphConvolution(layers.Layer):
    def __init__(self, width):
        super().__init__()
        self.message, self.update = layers.Dense(width, activation="relu", name="message"), layers.Dense(width, name="update")

    def call(self, nodes):
        messages = self.message(tf.gather(nodes, senders))
        summed = tf.math.unsorted_segment_mean(messages, receivers, NODES)
        return tf.nn.l2_normalize(self.update(tf.concat([nodes, summed], axis=-1)), axis=-1)


class GraphNetwork(keras.Model):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.out = GraphConvolution(8), GraphConvolution(8), layers.Dense(3)

    def call(self, nodes):
        x = self.first(nodes)
        x = self.second(x) + x
        return self.out(x)


model = GraphNetwork()
model(features)
optimizer = keras.optimizers.Adam(1e-2)


@tf.function
def train_step(nodes, labels):
    with tf.GradientTape() as tape:
        logits = model(nodes, training=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
    grads = tape.gradient(loss, model.trainable_weights)
    grads, norm = tf.clip_by_global_norm(grads, 1.0)
    optimizer.apply_gradients(zip(grads, model.trainable_weights))
    return loss, norm


def make_batch():
    return features, labels


def main():
    for step in range(4):
        loss, norm = train_step(features, labels)
        print(step, float(loss).hex(), float(norm).hex())


if __name__ == "__main__":
    main()
