"""Symptom: the critic of my actor-critic converges, the policy keeps acting at random. No error, one warning that I had filtered."""

import keras
import tensorflow as tf

ACTIONS = 4

policy = keras.Sequential(
    [keras.Input((6,)), keras.layers.Dense(32, activation="tanh", name="policy_hidden"), keras.layers.Dense(ACTIONS, name="policy_logits")],
    name="policy",
)
critic = keras.Sequential(
    [keras.Input((6,)), keras.layers.Dense(32, activation="tanh", name="critic_hidden"), keras.layers.Dense(1, name="critic_value")], name="critic"
)
variables = policy.trainable_variables + critic.trainable_variables
optimizer = keras.optimizers.Adam(3e-4)


def train_step(states, reward_table):
    with tf.GradientTape() as tape:
        logits = policy(states)
        values = tf.squeeze(critic(states), axis=-1)
        actions = tf.random.categorical(logits, 1)[:, 0]
        rewards = tf.reduce_sum(tf.one_hot(actions, ACTIONS) * reward_table, axis=-1)
        policy_loss = -tf.reduce_mean(rewards - tf.stop_gradient(values))
        value_loss = tf.reduce_mean(tf.square(rewards - values))
        loss = policy_loss + 0.5 * value_loss
    gradients = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(gradients, variables))
    return loss


def make_batch():
    return tf.random.normal([32, 6]), tf.random.uniform([32, ACTIONS])
