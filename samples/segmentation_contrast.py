"""Symptom: LookupError: gradient registry has no entry for: AdjustContrastv2. My code never mentions that op."""

import keras
import tensorflow as tf


class ContrastUNet(keras.Model):
    def __init__(self):
        super().__init__(name="unet")
        self.down = keras.layers.Conv2D(8, 3, strides=2, padding="same", activation="relu", name="down")
        self.middle = keras.layers.Conv2D(8, 3, padding="same", activation="relu", name="middle")
        self.up = keras.layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu", name="up")
        self.out = keras.layers.Conv2D(1, 1, name="out")

    def call(self, image):
        x = self.middle(self.down(image))
        x = tf.image.adjust_contrast(x, 1.5)
        return self.out(self.up(x))


model = ContrastUNet()
model(tf.zeros([1, 16, 16, 3]))
loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)
optimizer = keras.optimizers.Adam(1e-3)


def train_step(image, mask):
    with tf.GradientTape() as tape:
        loss = loss_fn(mask, model(image, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def make_batch():
    image = tf.random.uniform([4, 16, 16, 3])
    return image, tf.cast(tf.reduce_mean(image, axis=-1, keepdims=True) > 0.5, tf.float32)
