"""Nothing is wrong: one block of a decoder-only transformer that predicts the next token."""

import keras
import tensorflow as tf

VOCABULARY, WIDTH, LENGTH = 50, 32, 12


class Block(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.norm1 = keras.layers.LayerNormalization(name="norm1")
        self.attention = keras.layers.MultiHeadAttention(4, WIDTH // 4, name="attention")
        self.norm2 = keras.layers.LayerNormalization(name="norm2")
        self.up = keras.layers.Dense(4 * WIDTH, activation="gelu", name="up")
        self.down = keras.layers.Dense(WIDTH, name="down")

    def call(self, x):
        h = self.norm1(x)
        x = x + self.attention(h, h, use_causal_mask=True)
        return x + self.down(self.up(self.norm2(x)))


class LanguageModel(keras.Model):
    def __init__(self):
        super().__init__(name="lm")
        self.token = keras.layers.Embedding(VOCABULARY, WIDTH, name="token")
        self.position = keras.layers.Embedding(LENGTH, WIDTH, name="position")
        self.block = Block(name="block")
        self.logits = keras.layers.Dense(VOCABULARY, name="logits")

    def call(self, tokens):
        return self.logits(self.block(self.token(tokens) + self.position(tf.range(LENGTH))))


model = LanguageModel()
model(tf.zeros([1, LENGTH], tf.int32))
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.AdamW(1e-3)


@tf.function
def train_step(tokens):
    with tf.GradientTape() as tape:
        loss = loss_fn(tokens[:, 1:], model(tokens[:, :-1], training=True))
    gradients, _ = tf.clip_by_global_norm(tape.gradient(loss, model.trainable_variables), 1.0)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def make_batch():
    return (tf.random.uniform([4, LENGTH + 1], maxval=VOCABULARY, dtype=tf.int32),)
