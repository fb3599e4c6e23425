"""Training steps under a MirroredStrategy on two logical CPUs, healthy and broken in one way each, some on one replica only."""

import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

with strategy.scope():
    w = tf.Variable(tf.reshape(tf.linspace(-1.0, 1.0, 12), (4, 3)), name="w")
    v = tf.Variable(tf.reshape(tf.linspace(0.5, 1.0, 3), (3, 1)), name="v")
    unused = tf.Variable(tf.ones((3, 1)), name="unused")


def batch():
    return tf.reshape(tf.linspace(0.0, 1.0, 32), (8, 4)), tf.ones((8, 1))


def on_replica():
    return int(tf.get_static_value(tf.distribute.get_replica_context().replica_id_in_sync_group))


def train(kind, x, y):
    context = tf.distribute.get_replica_context()
    with tf.GradientTape() as tape:
        h = tf.tanh(x @ w)
        if kind == "stopped":
            h = tf.stop_gradient(h)
        if kind == "argmax":
            h = tf.one_hot(tf.argmax(h, 1), 3)
        if kind == "numpy":
            h = tf.ensure_shape(tf.numpy_function(np.tanh, [h], tf.float32), (None, 3))
        if kind == "first_only" and on_replica() == 0:
            h = tf.stop_gradient(h)
        if kind == "second_only" and on_replica() == 1:
            h = tf.stop_gradient(h)
        if kind == "different":
            h = tf.stop_gradient(h) if on_replica() == 1 else tf.round(h)
        if kind == "branch":
            h = tf.cond(tf.equal(context.replica_id_in_sync_group, 1), lambda: tf.stop_gradient(h), lambda: h)
        if kind == "summed":
            h = context.all_reduce("mean", h)
        if kind == "summed_stopped":
            h = context.all_reduce("mean", tf.stop_gradient(h))
        if kind == "gathered":
            h = context.all_gather(h, 0)
            y = tf.concat([y, y], 0)
        if kind == "merged":
            h = context.merge_call(lambda strategy, value: strategy.reduce("sum", value, axis=None), args=(h,))
        loss = tf.reduce_mean((h @ v - y) ** 2)
    if kind == "outside":
        loss = loss + tf.reduce_sum(w) * tf.reduce_sum(v)
    sources = [w, v, unused] if kind == "unread" else [w, v]
    gradients = tape.gradient(loss, sources)
    filled = [tf.zeros(s.shape) if g is None else g for s, g in zip(sources, gradients)]
    for source, gradient in zip(sources, context.all_reduce("sum", filled)):
        source.assign_sub(0.1 * gradient)
    return loss


def step_of(kind):
    def step(x, y):
        return strategy.reduce("mean", strategy.run(train, args=(kind, x, y)), axis=None)

    return step


healthy, stopped, argmax, numpy, unread, outside = map(step_of, ("healthy", "stopped", "argmax", "numpy", "unread", "outside"))
first_only, second_only, different, branch = map(step_of, ("first_only", "second_only", "different", "branch"))
summed, summed_stopped, gathered, merged = map(step_of, ("summed", "summed_stopped", "gathered", "merged"))


def nested(x, y):
    def forward_and_back(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.stop_gradient(x @ w) @ v)
        return tape.gradient(loss, [w, v])[1]

    return strategy.run(forward_and_back, args=(x,))


def tape_around(x, y):
    with tf.GradientTape() as tape:
        replicas = strategy.run(lambda x: tf.reduce_sum(x @ w @ v), args=(x,))
        loss = strategy.reduce("sum", replicas, axis=None)
    return tape.gradient(loss, [w])


def only_loss(x, y):
    def loss(x, y):
        return tf.reduce_mean((tf.stop_gradient(tf.tanh(x @ w)) @ v - y) ** 2)

    return strategy.reduce("sum", strategy.run(loss, args=(x, y)), axis=None)
