"""Actor and critic share a body; an eager loop inside the tape collects an episode in Python lists."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(25)
inputs = keras.Input((4,))
common = layers.Dense(16, activation="relu", name="common")(inputs)
model = keras.Model(inputs, [layers.Dense(2, activation="softmax", name="actor")(common), layers.Dense(1, name="critic")(common)])
optimizer = keras.optimizers.Adam(1e-2)
huber = keras.losses.Huber()


def environment(state, action):
    new = 0.9 * state + 0.3 * (action - 0.5) + 0.05 * np.random.normal(size=4)
    return new.astype("float32"), 1.0 - float(np.abs(new).mean())


def returns_of(rewards):
    total, returns = 0.0, []
    for reward in rewards[::-1]:
        total = reward + 0.9 * total
        returns.insert(0, total)
    returns = np.array(returns)
    return (returns - returns.mean()) / (returns.std() + 1e-7)


def train_step(state):
    logs, values, rewards = [], [], []
    with tf.GradientTape() as tape:
        for _ in range(6):
            probabilities, value = model(tf.convert_to_tensor(state)[None])
            action = np.random.choice(2, p=np.squeeze(probabilities) / np.sum(probabilities))
            logs.append(tf.math.log(probabilities[0, action]))
            values.append(value[0, 0])
            state, reward = environment(state, action)
            rewards.append(reward)
        losses = []
        for log, value, wanted in zip(logs, values, returns_of(rewards)):
            advantage = wanted - value.numpy()
            losses.append(-log * advantage)
            losses.append(huber(tf.expand_dims(value, 0), tf.expand_dims(wanted, 0)))
        loss = sum(losses)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def make_batch():
    return (np.ones(4, "float32"),)


def main():
    for episode in range(3):
        print(episode, float(train_step(np.ones(4, "float32"))).hex())


if __name__ == "__main__":
    main()
