"""Symptom: the codebook of my VQ-VAE never moves, all the other layers train. Keras warns about vq/codebook at every step."""

import keras
import tensorflow as tf


class VectorQuantizer(keras.layers.Layer):
    def __init__(self, codes, width, **kwargs):
        super().__init__(**kwargs)
        self.codebook = self.add_weight(name="codebook", shape=(codes, width), initializer="random_uniform")

    def call(self, z):
        distances = tf.reduce_sum(tf.square(z[:, None] - self.codebook[None]), axis=-1)
        picked = tf.gather(self.codebook, tf.argmin(distances, axis=-1))
        return z + tf.stop_gradient(picked - z)


encoder = keras.Sequential([keras.Input((32,)), keras.layers.Dense(4, name="enc_dense")], name="encoder")
quantizer = VectorQuantizer(16, 4, name="vq")
decoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(32, name="dec_dense")], name="decoder")
variables = encoder.trainable_variables + quantizer.trainable_variables + decoder.trainable_variables
optimizer = keras.optimizers.Adam(1e-3)


def train_step(x):
    with tf.GradientTape() as tape:
        z = encoder(x, training=True)
        quantized = quantizer(z)
        reconstruction = decoder(quantized, training=True)
        commitment_loss = tf.reduce_mean(tf.square(tf.stop_gradient(quantized) - z))
        codebook_loss = tf.reduce_mean(tf.square(quantized - tf.stop_gradient(z)))
        loss = tf.reduce_mean(tf.square(x - reconstruction)) + codebook_loss + 0.25 * commitment_loss
    gradients = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(gradients, variables))
    return loss


def make_batch():
    return (tf.random.normal([8, 32]),)
