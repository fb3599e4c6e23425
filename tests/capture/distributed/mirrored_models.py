"""Keras models compiled under a MirroredStrategy on two logical CPUs; of tf_keras with TF_USE_LEGACY_KERAS=1."""

import os

import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
if os.environ.get("TF_USE_LEGACY_KERAS"):
    import tf_keras as keras
else:
    import keras

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def batch():
    return np.ones((8, 4), "float32"), np.ones((8, 1), "float32")


class Cut(keras.layers.Layer):
    def call(self, x):
        return tf.stop_gradient(x)


class CutOnSecond(keras.layers.Layer):
    def call(self, x):
        context = tf.distribute.get_replica_context()
        if context is not None and tf.get_static_value(context.replica_id_in_sync_group) == 1:
            return tf.stop_gradient(x)
        return x


class LeavesOut(keras.Model):
    def __init__(self):
        super().__init__()
        self.used = keras.layers.Dense(1, name="used")
        self.left_out = keras.layers.Dense(1, name="left_out")

    def call(self, x):
        self.left_out(x)
        return self.used(x)


def model_of(*middle):
    first, last = keras.layers.Dense(3, activation="tanh", name="first"), keras.layers.Dense(1, name="last")
    model = keras.Sequential([keras.layers.Input((4,)), first, *middle, keras.layers.BatchNormalization(name="norm"), last], name="model")
    model.compile("adam", "mse")
    return model


with strategy.scope():
    healthy, cut, cut_on_second = model_of(), model_of(Cut()), model_of(CutOnSecond())
    leaves_out = LeavesOut()
    leaves_out.compile("sgd", "mse")
