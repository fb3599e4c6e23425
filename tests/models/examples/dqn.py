"""Deep Q-learning on a toy world: an eager loop, a target network, values gathered by the action that was taken."""

import random
from collections import deque

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(5)
ACTIONS, STATE, GAMMA = 3, 4, 0.95


def make_network(name):
    return keras.Sequential([keras.Input((STATE,)), keras.layers.Dense(16, activation="relu"), keras.layers.Dense(ACTIONS)], name=name)


network, target_network = make_network("q"), make_network("target_q")
target_network.set_weights(network.get_weights())
optimizer = keras.optimizers.Adam(1e-2)
huber = keras.losses.Huber()
memory = deque(maxlen=200)


def environment(state, action):
    new = 0.9 * state + 0.1 * np.random.normal(size=STATE).astype("float32")
    return new, float(new[action]), bool(abs(new[0]) > 1.5)


def act(state, epsilon):
    if random.random() < epsilon:
        return random.randrange(ACTIONS)
    return int(tf.argmax(network(state[None], training=False)[0]))


def train_step(states, actions, rewards, next_states, done):
    future = tf.reduce_max(target_network(next_states), axis=1)
    wanted = rewards + GAMMA * future * (1.0 - done)
    with tf.GradientTape() as tape:
        values = network(states)
        taken = tf.gather(values, actions, axis=1, batch_dims=1)
        loss = huber(wanted, taken)
    grads = tape.gradient(loss, network.trainable_variables)
    optimizer.apply_gradients(zip(grads, network.trainable_variables))
    return loss


def make_batch():
    states = np.random.normal(size=(8, STATE)).astype("float32")
    return states, np.random.randint(0, ACTIONS, 8), np.ones(8, "float32"), states + 0.1, np.zeros(8, "float32")


def main():
    for episode in range(3):
        state, total = np.random.normal(size=STATE).astype("float32"), 0.0
        for _ in range(12):
            action = act(state, epsilon=0.5)
            new, reward, done = environment(state, action)
            memory.append((state, action, reward, new, float(done)))
            state, total = new, total + reward
            if len(memory) >= 8:
                s, a, r, n, d = map(np.array, zip(*random.sample(memory, 8)))
                loss = train_step(s, a, r.astype("float32"), n, d.astype("float32"))
            if done:
                break
        target_network.set_weights(network.get_weights())
        print(episode, float(total).hex(), float(loss).hex())


if __name__ == "__main__":
    main()
