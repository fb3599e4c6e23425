"""Symptom: I wrote the structural similarity in NumPy and wrapped it. The loss goes up and down, the network never changes."""

import keras
import numpy as np
import tensorflow as tf

model = keras.Sequential(
    [
        keras.Input((16, 16, 1)),
        keras.layers.Conv2D(8, 3, padding="same", activation="relu", name="conv1"),
        keras.layers.Conv2D(1, 3, padding="same", name="conv2"),
    ],
    name="denoiser",
)
optimizer = keras.optimizers.Adam(1e-3)


def similarity(a, b):
    """Structural similarity over the whole image, one number for each."""
    axes = (1, 2, 3)
    ma, mb = a.mean(axes), b.mean(axes)
    covariance = ((a - ma[:, None, None, None]) * (b - mb[:, None, None, None])).mean(axes)
    value = (2 * ma * mb + 1e-4) * (2 * covariance + 9e-4) / ((ma**2 + mb**2 + 1e-4) * (a.var(axes) + b.var(axes) + 9e-4))
    return value.astype(np.float32)


def train_step(noisy, clean):
    with tf.GradientTape() as tape:
        restored = model(noisy, training=True)
        ssim = tf.numpy_function(similarity, [restored, clean], tf.float32)
        loss = 1.0 - tf.reduce_mean(ssim)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def make_batch():
    clean = tf.random.uniform([4, 16, 16, 1])
    return clean + tf.random.normal([4, 16, 16, 1], stddev=0.1), clean
