"""Nothing is wrong: a small convolutional classifier with batch normalisation and dropout."""

import keras
import tensorflow as tf

model = keras.Sequential(
    [
        keras.Input((20, 20, 3)),
        keras.layers.Conv2D(8, 3, use_bias=False, name="conv1"),
        keras.layers.BatchNormalization(name="norm1"),
        keras.layers.ReLU(name="relu1"),
        keras.layers.MaxPooling2D(name="pool"),
        keras.layers.Conv2D(16, 3, activation="relu", name="conv2"),
        keras.layers.GlobalAveragePooling2D(name="average"),
        keras.layers.Dropout(0.3, name="dropout"),
        keras.layers.Dense(10, name="logits"),
    ],
    name="cnn",
)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.Adam(1e-3)


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_fn(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def make_batch():
    return tf.random.uniform([8, 20, 20, 3]), tf.random.uniform([8], maxval=10, dtype=tf.int32)
