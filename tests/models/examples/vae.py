"""A variational autoencoder with a train_step of its own."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

keras.utils.set_random_seed(2)
digits = np.random.rand(48, 28, 28, 1).astype("float32")
LATENT = 2


class Sampling(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        mean, log_var = inputs
        noise = keras.random.normal(ops.shape(mean), seed=self.seed_generator)
        return mean + ops.exp(0.5 * log_var) * noise


def make_encoder():
    inputs = keras.Input((28, 28, 1))
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(inputs)
    x = layers.Dense(16, activation="relu")(layers.Flatten()(x))
    mean = layers.Dense(LATENT, name="mean")(x)
    log_var = layers.Dense(LATENT, name="log_var")(x)
    return keras.Model(inputs, [mean, log_var, Sampling()([mean, log_var])], name="encoder")


def make_decoder():
    inputs = keras.Input((LATENT,))
    x = layers.Dense(7 * 7 * 4, activation="relu")(inputs)
    x = layers.Reshape((7, 7, 4))(x)
    x = layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Conv2DTranspose(1, 3, strides=2, padding="same", activation="sigmoid")(x)
    return keras.Model(inputs, x, name="decoder")


class VAE(keras.Model):
    def __init__(self, encoder, decoder, **kwargs):
        super().__init__(**kwargs)
        self.encoder, self.decoder = encoder, decoder
        self.total = keras.metrics.Mean(name="loss")
        self.kl = keras.metrics.Mean(name="kl")

    @property
    def metrics(self):
        return [self.total, self.kl]

    def train_step(self, data):
        with tf.GradientTape() as tape:
            mean, log_var, z = self.encoder(data, training=True)
            rebuilt = self.decoder(z, training=True)
            error = ops.mean(ops.sum(keras.losses.binary_crossentropy(data, rebuilt), axis=(1, 2)))
            kl = -0.5 * (1 + log_var - ops.square(mean) - ops.exp(log_var))
            kl = ops.mean(ops.sum(kl, axis=1))
            loss = error + kl
        grads = tape.gradient(loss, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights))
        self.total.update_state(loss)
        self.kl.update_state(kl)
        return {m.name: m.result() for m in self.metrics}


model = VAE(make_encoder(), make_decoder(), name="vae")
model.compile(optimizer=keras.optimizers.Adam())


def make_batch():
    return (digits[:8],)


def main():
    history = model.fit(digits, epochs=2, batch_size=16, verbose=0)
    print([value.hex() for value in history.history["loss"]], [value.hex() for value in history.history["kl"]])


if __name__ == "__main__":
    main()
