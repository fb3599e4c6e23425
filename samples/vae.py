"""Symptom: "No gradients provided for any variable", for every layer of my VAE. The loss itself looks fine."""

import keras
import tensorflow as tf


class VAE(keras.Model):
    def __init__(self):
        super().__init__(name="vae")
        self.enc = keras.layers.Dense(32, activation="relu", name="enc")
        self.mu = keras.layers.Dense(2, name="mu")
        self.logvar = keras.layers.Dense(2, name="logvar")
        self.dec = keras.layers.Dense(64, activation="sigmoid", name="dec")

    def call(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + tf.exp(0.5 * logvar) * tf.random.normal(tf.shape(mu))
        return self.dec(z), mu, logvar


vae = VAE()
vae(tf.zeros([1, 64]))
optimizer = keras.optimizers.Adam(1e-3)


def total_loss(x, rec, mu, logvar):
    kl = -0.5 * tf.reduce_mean(1.0 + logvar - tf.square(mu) - tf.exp(logvar))
    return tf.reduce_mean(tf.square(x - rec)) + kl


def train_step(x):
    rec, mu, logvar = vae(x, training=True)
    with tf.GradientTape() as tape:
        loss = total_loss(x, rec, mu, logvar)
    gradients = tape.gradient(loss, vae.trainable_variables)
    optimizer.apply_gradients(zip(gradients, vae.trainable_variables))
    return loss


def make_batch():
    return (tf.random.uniform([16, 64]),)
