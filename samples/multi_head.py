"""Symptom: "Gradients do not exist for variables ['depth/kernel', 'depth/bias']", and I do call the depth head."""

import keras
import tensorflow as tf


class SceneNet(keras.Model):
    def __init__(self):
        super().__init__(name="scene")
        self.backbone = keras.layers.Conv2D(8, 3, padding="same", activation="relu", name="backbone")
        self.segmentation = keras.layers.Conv2D(3, 1, name="segmentation")
        self.depth = keras.layers.Conv2D(1, 1, activation="softplus", name="depth")

    def call(self, image):
        features = self.backbone(image)
        return {"segmentation": self.segmentation(features), "depth": self.depth(features)}


model = SceneNet()
model(tf.zeros([1, 16, 16, 3]))
segmentation_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.Adam(1e-3)


def train_step(image, mask, depth):
    with tf.GradientTape() as tape:
        predicted = model(image, training=True)
        loss_seg = segmentation_loss(mask, predicted["segmentation"])
        loss_depth = tf.reduce_mean(tf.abs(predicted["depth"] - depth))
        loss = loss_seg + 0.1 * loss_seg
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return {"loss": loss, "depth_mae": loss_depth}


def make_batch():
    image = tf.random.uniform([4, 16, 16, 3])
    return image, tf.random.uniform([4, 16, 16], maxval=3, dtype=tf.int32), tf.random.uniform([4, 16, 16, 1])
