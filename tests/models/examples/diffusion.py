"""A denoising diffusion model: a small U-Net told the noise level, and an average of its weights kept beside."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

keras.utils.set_random_seed(24)
images = np.random.rand(16, 16, 16, 1).astype("float32")


def make_network(name):
    noisy, level = keras.Input((16, 16, 1)), keras.Input((1, 1, 1))
    told = layers.UpSampling2D(16)(layers.Dense(4, activation="swish")(level))
    down = layers.Conv2D(6, 3, padding="same", activation="swish")(layers.Concatenate()([noisy, told]))
    middle = layers.Conv2D(8, 3, padding="same", activation="swish")(layers.AveragePooling2D(2)(down))
    up = layers.UpSampling2D(interpolation="bilinear")(layers.GroupNormalization(2)(middle))
    return keras.Model([noisy, level], layers.Conv2D(1, 1)(layers.Concatenate()([up, down])), name=name)


class Diffusion(keras.Model):
    def __init__(self):
        super().__init__()
        self.normalizer = layers.Normalization()
        self.network = make_network("network")
        self.ema_network = keras.models.clone_model(self.network)
        self.ema_network.set_weights(self.network.get_weights())

    def train_step(self, images):
        images = self.normalizer(images, training=True)
        noises = tf.random.normal(tf.shape(images))
        times = tf.random.uniform([tf.shape(images)[0], 1, 1, 1])
        signal, noise = ops.cos(1.5 * times), ops.sin(1.5 * times)
        with tf.GradientTape() as tape:
            predicted = self.network([signal * images + noise * noises, noise**2], training=True)
            loss = self.loss(noises, predicted)
        gradients = tape.gradient(loss, self.network.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.network.trainable_weights))
        for weight, average in zip(self.network.weights, self.ema_network.weights):
            average.assign(0.99 * average + 0.01 * weight)
        return {"noise_loss": loss}


model = Diffusion()
model.normalizer.adapt(images)
model.compile(keras.optimizers.AdamW(1e-3), keras.losses.MeanAbsoluteError())


def make_batch():
    return (images[:4],)


def main():
    history = model.fit(images, batch_size=4, epochs=2, verbose=0)
    print([value.hex() for value in history.history["noise_loss"]])


if __name__ == "__main__":
    main()
