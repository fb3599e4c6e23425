"""A generative adversarial network: two networks, two optimizers, two tapes in one train_step."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(3)
digits = np.random.rand(32, 28, 28, 1).astype("float32")
NOISE = 12

discriminator = keras.Sequential(
    [
        keras.Input((28, 28, 1)),
        layers.Conv2D(8, 3, strides=2, padding="same"),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Conv2D(8, 3, strides=2, padding="same"),
        layers.LeakyReLU(negative_slope=0.2),
        layers.GlobalMaxPooling2D(),
        layers.Dense(1),
    ],
    name="discriminator",
)
generator = keras.Sequential(
    [
        keras.Input((NOISE,)),
        layers.Dense(7 * 7 * 8, use_bias=False),
        layers.BatchNormalization(),
        layers.Reshape((7, 7, 8)),
        layers.Conv2DTranspose(8, 4, strides=2, padding="same"),
        layers.LeakyReLU(negative_slope=0.2),
        layers.Conv2DTranspose(1, 4, strides=2, padding="same", activation="sigmoid"),
    ],
    name="generator",
)


class GAN(keras.Model):
    def __init__(self, discriminator, generator):
        super().__init__()
        self.discriminator, self.generator = discriminator, generator
        self.d_mean, self.g_mean = keras.metrics.Mean(name="d_loss"), keras.metrics.Mean(name="g_loss")

    def compile(self, d_optimizer, g_optimizer, loss_fn):
        super().compile()
        self.d_optimizer, self.g_optimizer, self.loss_fn = d_optimizer, g_optimizer, loss_fn

    def train_step(self, real):
        count = tf.shape(real)[0]
        generated = self.generator(tf.random.normal([count, NOISE]), training=True)
        images = tf.concat([generated, real], axis=0)
        labels = tf.concat([tf.ones([count, 1]), tf.zeros([count, 1])], axis=0)
        labels += 0.05 * tf.random.uniform(tf.shape(labels))
        with tf.GradientTape() as tape:
            predictions = self.discriminator(images, training=True)
            d_loss = self.loss_fn(labels, predictions)
        grads = tape.gradient(d_loss, self.discriminator.trainable_weights)
        self.d_optimizer.apply_gradients(zip(grads, self.discriminator.trainable_weights))

        noise = tf.random.normal([count, NOISE])
        misleading = tf.zeros([count, 1])
        with tf.GradientTape() as tape:
            fake = self.generator(noise, training=True)
            g_loss = self.loss_fn(misleading, self.discriminator(fake))
        grads = tape.gradient(g_loss, self.generator.trainable_weights)
        self.g_optimizer.apply_gradients(zip(grads, self.generator.trainable_weights))
        self.d_mean.update_state(d_loss)
        self.g_mean.update_state(g_loss)
        return {"d_loss": self.d_mean.result(), "g_loss": self.g_mean.result()}


model = GAN(discriminator, generator)
model.compile(keras.optimizers.Adam(3e-4), keras.optimizers.Adam(3e-4), keras.losses.BinaryCrossentropy(from_logits=True))


def make_batch():
    return (digits[:8],)


def main():
    history = model.fit(tf.data.Dataset.from_tensor_slices(digits).batch(8), epochs=2, verbose=0)
    print({name: [value.hex() for value in values] for name, values in history.history.items()})


if __name__ == "__main__":
    main()
