"""Symptom: my loss is noisy, so I smooth it with a moving average. Since then nothing trains."""

import keras
import tensorflow as tf

DECAY = 0.9

model = keras.Sequential(
    [keras.Input((8,)), keras.layers.Dense(16, activation="relu", name="hidden"), keras.layers.Dense(1, name="out")], name="regressor"
)
smoothed = tf.Variable(0.0, trainable=False, name="smoothed_loss")
optimizer = keras.optimizers.Adam(1e-3)


def train_step(x, y):
    with tf.GradientTape() as tape:
        batch_loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
        smoothed.assign(DECAY * smoothed + (1.0 - DECAY) * batch_loss)
        loss = tf.sqrt(smoothed)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def make_batch():
    x = tf.random.normal([16, 8])
    return x, tf.reduce_sum(x, axis=-1, keepdims=True)
