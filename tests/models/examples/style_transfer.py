"""The variable is a picture: its features are pulled to those of two others through a frozen network."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(22)
content, style = (tf.constant(np.random.rand(1, 24, 24, 3).astype("float32")) for _ in range(2))

inputs = keras.Input((24, 24, 3))
low = layers.Conv2D(6, 3, activation="relu", name="low")(inputs)
high = layers.Conv2D(6, 3, activation="relu", name="high")(layers.AveragePooling2D(2)(low))
extractor = keras.Model(inputs, {"low": low, "high": high})
extractor.trainable = False
image = tf.Variable(content, name="image")
optimizer = keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(1.0, 10, 0.9))


def gram(x):
    flat = tf.reshape(tf.transpose(x, [0, 3, 1, 2]), [6, -1])
    return tf.matmul(flat, flat, transpose_b=True)


def compute_loss():
    features = extractor(tf.concat([content, style, image], axis=0))
    high, low = features["high"], features["low"]
    loss = 0.1 * tf.reduce_sum(tf.square(high[2:3] - high[0:1]))
    loss += 1e-3 * tf.reduce_sum(tf.square(gram(low[1:2]) - gram(low[2:3])))
    return loss + 1e-2 * tf.reduce_mean(tf.image.total_variation(image))


@tf.function
def train_step():
    with tf.GradientTape() as tape:
        loss = compute_loss()
    grads = tape.gradient(loss, [image])
    optimizer.apply_gradients(zip(grads, [image]))
    image.assign(tf.clip_by_value(image, 0.0, 1.0))
    return loss


def make_batch():
    return ()


def main():
    for step in range(4):
        print(step, float(train_step()).hex())


if __name__ == "__main__":
    main()
