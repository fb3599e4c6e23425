"""A script that two workers run, each with its own TF_CONFIG; the second cuts the graph when it is told to."""

import sys

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    w = tf.Variable(tf.ones((4, 3)), name="w")
    v = tf.Variable(tf.ones((3, 1)), name="v")


def train(x, y):
    context = tf.distribute.get_replica_context()
    with tf.GradientTape() as tape:
        h = tf.tanh(x @ w)
        if "cut" in sys.argv and tf.get_static_value(context.replica_id_in_sync_group) == 1:
            h = tf.stop_gradient(h)
        loss = tf.reduce_mean((h @ v - y) ** 2)
    gradients = [tf.zeros(s.shape) if g is None else g for s, g in zip([w, v], tape.gradient(loss, [w, v]))]
    for source, gradient in zip([w, v], context.all_reduce("sum", gradients)):
        source.assign_sub(0.1 * gradient)
    return loss


@tf.function
def step(x, y):
    return strategy.reduce("mean", strategy.run(train, args=(x, y)), axis=None)


for _ in range(3):
    loss = step(tf.ones((8, 4)), tf.ones((8, 1)))
print(float(loss).hex())
