"""Symptom: the inner loop of my MAML adapts well, yet every meta-gradient is None."""

import tensorflow as tf

INNER_RATE = 0.05

meta = [
    tf.Variable(tf.random.normal([1, 40], stddev=0.3), name="w1"),
    tf.Variable(tf.zeros([40]), name="b1"),
    tf.Variable(tf.random.normal([40, 1], stddev=0.3), name="w2"),
    tf.Variable(tf.zeros([1]), name="b2"),
]


def forward(weights, x):
    w1, b1, w2, b2 = weights
    return tf.nn.relu(x @ w1 + b1) @ w2 + b2


def mse(weights, x, y):
    return tf.reduce_mean(tf.square(forward(weights, x) - y))


def adapt(weights, x, y):
    """One step of gradient descent on the support set."""
    with tf.GradientTape() as inner:
        loss = mse(weights, x, y)
    gradients = inner.gradient(loss, weights)
    return [w - INNER_RATE * g for w, g in zip(weights, gradients)]


def train_step(x_support, y_support, x_query, y_query):
    fast = adapt(meta, x_support, y_support)
    with tf.GradientTape() as outer:
        query_loss = mse(fast, x_query, y_query)
    meta_gradients = outer.gradient(query_loss, meta)
    for variable, gradient in zip(meta, meta_gradients):
        if gradient is not None:
            variable.assign_sub(1e-3 * gradient)
    return query_loss


def make_batch():
    """Support and query points of one sine wave."""
    x = tf.random.uniform([20, 1], -5.0, 5.0)
    y = 2.0 * tf.sin(x + 0.7)
    return x[:10], y[:10], x[10:], y[10:]
