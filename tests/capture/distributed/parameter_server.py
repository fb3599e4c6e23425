"""A ParameterServerStrategy whose workers and servers live in this process, and a coordinator that schedules steps."""

import socket
import sys

import tensorflow as tf


def free_address():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{s.getsockname()[1]}"


cluster = tf.train.ClusterSpec({"worker": [free_address(), free_address()], "ps": [free_address()]})
threads = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=4)  # fewer, as on a machine of two cores, and workers wait for each other for ever
servers = [tf.distribute.Server(cluster, job_name="worker", task_index=i, config=threads) for i in range(2)]
servers.append(tf.distribute.Server(cluster, job_name="ps", config=threads))
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
partitioner = tf.distribute.experimental.partitioners.FixedShardsPartitioner(2) if "shards" in sys.argv else None
strategy = tf.distribute.experimental.ParameterServerStrategy(resolver, variable_partitioner=partitioner)
coordinator = tf.distribute.experimental.coordinator.ClusterCoordinator(strategy)
with strategy.scope():
    w = tf.Variable(tf.ones((4, 3)), name="w")
    v = tf.Variable(tf.ones((2, 1)), name="v")
parts = [*w.variables, *v.variables] if "shards" in sys.argv else [w, v]


def whole(variable):
    return tf.concat(variable.variables, 0) if "shards" in sys.argv else variable


def train(x, y):
    with tf.GradientTape() as tape:
        h = tf.stop_gradient(tf.tanh(tf.matmul(x, whole(w))))
        loss = tf.reduce_mean((tf.matmul(h[:, :2], whole(v)) - y) ** 2)
    for source, gradient in zip(parts, tape.gradient(loss, parts)):
        if gradient is not None:
            source.assign_sub(0.1 * gradient)
    return loss


@tf.function
def step(x, y):
    return strategy.reduce("mean", strategy.run(train, args=(x, y)), axis=None)


def batch():
    return tf.ones((8, 4)), tf.ones((8, 1))


if __name__ == "__main__":
    for _ in range(3):
        result = coordinator.schedule(step, args=batch())
    coordinator.join()
    print(float(result.fetch()).hex())
    sys.stdout.flush()
