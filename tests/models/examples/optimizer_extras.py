"""What optimizers do beside: averaged weights, accumulated gradients, clipping, decay."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(12)
rows, targets = np.random.rand(48, 5).astype("float32"), np.random.rand(48, 1).astype("float32")

inputs = keras.Input((5,))
hidden = layers.Dense(8, activation="swish", name="hidden")(inputs)
gate = layers.Dense(8, activation="sigmoid", name="gate")(inputs)
model = keras.Model(inputs, layers.Dense(1, name="out")(layers.Multiply()([hidden, gate])))
optimizer = keras.optimizers.AdamW(1e-2, weight_decay=1e-3, use_ema=True, ema_momentum=0.9, gradient_accumulation_steps=2, global_clipnorm=1.0)
model.compile(optimizer, "mse")


def make_batch():
    return rows[:8], targets[:8]


def main():
    history = model.fit(rows, targets, batch_size=8, epochs=3, verbose=0)
    print([value.hex() for value in history.history["loss"]])
    optimizer.finalize_variable_values(model.trainable_variables)
    print(model.get_weights()[0].tobytes().hex()[:64])


if __name__ == "__main__":
    main()
