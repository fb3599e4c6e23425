"""A Wasserstein GAN: the critic's loss holds a penalty on its own gradient, so it is differentiated twice."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(4)
data = np.random.rand(32, 10).astype("float32")

critic = keras.Sequential([keras.Input((10,)), layers.Dense(16, activation="tanh"), layers.Dense(1)], name="critic")
generator = keras.Sequential([keras.Input((4,)), layers.Dense(16, activation="relu"), layers.Dense(10)], name="generator")


class WGAN(keras.Model):
    def __init__(self, critic, generator, critic_steps=2, weight=10.0):
        super().__init__()
        self.critic, self.generator = critic, generator
        self.critic_steps, self.weight = critic_steps, weight

    def compile(self, critic_optimizer, generator_optimizer):
        super().compile()
        self.critic_optimizer, self.generator_optimizer = critic_optimizer, generator_optimizer

    def penalty(self, real, fake):
        mix = tf.random.uniform([tf.shape(real)[0], 1])
        between = real + mix * (fake - real)
        with tf.GradientTape() as inner:
            inner.watch(between)
            score = self.critic(between, training=True)
        slope = inner.gradient(score, between)
        norm = tf.sqrt(tf.reduce_sum(tf.square(slope), axis=1) + 1e-12)
        return tf.reduce_mean((norm - 1.0) ** 2)

    def train_step(self, real):
        count = tf.shape(real)[0]
        for _ in range(self.critic_steps):
            noise = tf.random.normal([count, 4])
            with tf.GradientTape() as tape:
                fake = self.generator(noise, training=True)
                gap = tf.reduce_mean(self.critic(fake, training=True)) - tf.reduce_mean(self.critic(real, training=True))
                critic_loss = gap + self.weight * self.penalty(real, fake)
            grads = tape.gradient(critic_loss, self.critic.trainable_variables)
            self.critic_optimizer.apply_gradients(zip(grads, self.critic.trainable_variables))
        with tf.GradientTape() as tape:
            fake = self.generator(tf.random.normal([count, 4]), training=True)
            generator_loss = -tf.reduce_mean(self.critic(fake, training=True))
        grads = tape.gradient(generator_loss, self.generator.trainable_variables)
        self.generator_optimizer.apply_gradients(zip(grads, self.generator.trainable_variables))
        return {"critic": critic_loss, "generator": generator_loss}


model = WGAN(critic, generator)
model.compile(keras.optimizers.Adam(1e-3, beta_1=0.5), keras.optimizers.Adam(1e-3, beta_1=0.5))


def make_batch():
    return (data[:8],)


def main():
    history = model.fit(data, batch_size=8, epochs=2, verbose=0)
    print({name: [value.hex() for value in values] for name, values in history.history.items()})


if __name__ == "__main__":
    main()
