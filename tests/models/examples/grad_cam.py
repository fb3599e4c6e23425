"""Where does the network look? Grad-CAM asks for the gradient of a class by a feature map, a saliency map for that by the picture."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(9)
images = np.random.rand(4, 24, 24, 3).astype("float32")

inputs = keras.Input((24, 24, 3))
x = layers.Conv2D(8, 3, activation="relu")(inputs)
x = layers.Conv2D(8, 3, activation="relu", name="last_conv")(x)
x = layers.GlobalAveragePooling2D()(x)
classifier = keras.Model(inputs, layers.Dense(5, name="classes")(x))
both = keras.Model(classifier.inputs, [classifier.get_layer("last_conv").output, classifier.output])


def heatmap(images):
    with tf.GradientTape() as tape:
        maps, predictions = both(images)
        tape.watch(maps)
        best = tf.argmax(predictions[0])
        score = classifier.get_layer("classes")(tf.reduce_mean(maps, axis=(1, 2)))[:, best]
    slopes = tape.gradient(score, maps)
    weights = tf.reduce_mean(slopes, axis=(1, 2), keepdims=True)
    heat = tf.nn.relu(tf.reduce_sum(maps * weights, axis=-1))
    return heat / (tf.reduce_max(heat) + 1e-8)


def saliency(images):
    with tf.GradientTape() as tape:
        tape.watch(images)
        score = tf.reduce_max(classifier(images), axis=1)
    return tf.reduce_max(tf.abs(tape.gradient(score, images)), axis=-1)


def train_step(images):
    return heatmap(images), saliency(images)


def make_batch():
    return (tf.constant(images),)


def main():
    heat, slope = train_step(tf.constant(images))
    print(float(tf.reduce_sum(heat)).hex(), float(tf.reduce_sum(slope)).hex())


if __name__ == "__main__":
    main()
