"""Symptom: the discriminator learns, the generator never does: its loss rises and its samples stay noise."""

import keras
import tensorflow as tf

NOISE = 16

generator = keras.Sequential(
    [keras.Input((NOISE,)), keras.layers.Dense(32, activation="relu", name="gen_hidden"), keras.layers.Dense(8, name="gen_out")], name="generator"
)
discriminator = keras.Sequential(
    [keras.Input((8,)), keras.layers.Dense(32, activation="relu", name="disc_hidden"), keras.layers.Dense(1, name="disc_out")], name="discriminator"
)
cross_entropy = keras.losses.BinaryCrossentropy(from_logits=True)
generator_optimizer = keras.optimizers.Adam(1e-4)
discriminator_optimizer = keras.optimizers.Adam(1e-4)


def generator_loss(fake_logits):
    return cross_entropy(tf.ones_like(fake_logits), fake_logits)


def discriminator_loss(real_logits, fake_logits):
    return cross_entropy(tf.ones_like(real_logits), real_logits) + cross_entropy(tf.zeros_like(fake_logits), fake_logits)


def train_step(real):
    noise = tf.random.normal([tf.shape(real)[0], NOISE])
    with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
        # The discriminator's loss must not train the generator.
        fake = tf.stop_gradient(generator(noise, training=True))
        real_logits = discriminator(real, training=True)
        fake_logits = discriminator(fake, training=True)
        gen_loss = generator_loss(fake_logits)
        disc_loss = discriminator_loss(real_logits, fake_logits)
    disc_gradients = disc_tape.gradient(disc_loss, discriminator.trainable_variables)
    gen_gradients = gen_tape.gradient(gen_loss, generator.trainable_variables)
    discriminator_optimizer.apply_gradients(zip(disc_gradients, discriminator.trainable_variables))
    generator_optimizer.apply_gradients(zip(gen_gradients, generator.trainable_variables))
    return gen_loss, disc_loss


def make_batch():
    return (tf.random.normal([16, 8]),)
