"""One fault for each of the examples, of a kind that users of such a program make: what is written in place of what, and what is to be said first."""

from __future__ import annotations

from dataclasses import dataclass

from tapetrace.model.words import Cause


@dataclass(frozen=True, slots=True)
class Fault:
    """``old`` stands once in the file and ``new`` takes its place. ``line`` is a piece of the line that must be named first, with ``cause``.

    ``blocks`` is how many variables get no gradient for it.
    """

    old: str
    new: str
    line: str
    cause: Cause
    blocks: int


def _swapped(tape: str, line: str) -> tuple[str, str]:
    """The first line of a tape's block, moved to before the tape."""
    indent = " " * (len(line) - len(line.lstrip()))
    return f"{indent[4:]}{tape}\n{line}", f"{line[4:]}\n{indent[4:]}{tape}"


TAPE = "with tf.GradientTape() as tape:"

FAULTS = {
    "actor_critic": Fault("(-log * advantage)", "(-log.numpy() * advantage)", "-log.numpy()", Cause.NUMPY_ESCAPE, 2),
    "added_losses": Fault(
        "ops.mean(ops.sigmoid(x / self.temperature), axis=0)",
        'ops.mean(ops.cast(x / self.temperature > 0.5, "float32"), axis=0)',
        "self.temperature > 0.5",
        Cause.NON_FLOAT,
        1,
    ),
    "class_weights": Fault(
        "keras.losses.BinaryFocalCrossentropy(from_logits=True)", "keras.metrics.binary_accuracy", "model.compile", Cause.NON_FLOAT, 4
    ),
    "custom_loop": Fault(*_swapped(TAPE, "        logits = model(x, training=True)"), "logits = model(x, training=True)", Cause.OUTSIDE_TAPE, 6),
    "diffusion": Fault(
        "tape.gradient(loss, self.network.trainable_weights)",
        "tape.gradient(loss, self.ema_network.trainable_weights)",
        "clone_model",
        Cause.NEVER_READ,
        10,
    ),
    "distillation": Fault(
        "return self.student(x, training=training)",
        "return ops.stop_gradient(self.student(x, training=training))",
        "ops.stop_gradient(self.student",
        Cause.STOP_GRADIENT,
        4,
    ),
    "dqn": Fault(
        "tf.gather(values, actions, axis=1, batch_dims=1)",
        "tf.cast(tf.argmax(values, axis=1), tf.float32)",
        "tf.argmax(values",
        Cause.NON_FLOAT,
        4,
    ),
    "fast_fit": Fault(
        'layers.Dense(8, activation="relu"),', "layers.Dense(8, activation=lambda x: tf.round(x)),", "tf.round", Cause.GRADIENT_IS_NONE, 4
    ),
    "gan": Fault(*_swapped(TAPE, "            fake = self.generator(noise, training=True)"), "fake = self.generator(noise", Cause.OUTSIDE_TAPE, 7),
    "grad_cam": Fault("        tape.watch(images)\n", "", "tape.gradient(score, images)", Cause.NOT_WATCHED, 1),
    "graph_network": Fault(
        "unsorted_segment_mean(messages,", "unsorted_segment_mean(tf.sign(messages),", "tf.sign(messages)", Cause.GRADIENT_IS_ZERO, 4
    ),
    "image_classification": Fault(
        "layers.ReLU(),", "layers.Lambda(lambda x: keras.ops.round(x * 255) / 255),", "keras.ops.round", Cause.GRADIENT_IS_NONE, 3
    ),
    "maml": Fault("        loss = mse(y_query", "    loss = mse(y_query", "loss = mse(y_query", Cause.OUTSIDE_TAPE, 4),
    "mixed_precision": Fault("        scaled = ", "    scaled = ", "optimizer.scale_loss", Cause.OUTSIDE_TAPE, 6),
    "multi_output": Fault("([numbers_in, kind])", "([numbers_in, keras.ops.round(kind)])", "keras.ops.round(kind)", Cause.GRADIENT_IS_NONE, 1),
    "ocr": Fault(
        'x = layers.Dense(8, activation="relu", name="squeeze")(x)',
        "x = keras.ops.one_hot(keras.ops.argmax(x, axis=-1), 16)",
        "keras.ops.argmax",
        Cause.NON_FLOAT,
        2,
    ),
    "optimizer_extras": Fault("[hidden, gate]", "[hidden, keras.ops.stop_gradient(gate)]", "stop_gradient(gate)", Cause.STOP_GRADIENT, 2),
    "own_cell": Fault(
        "f = ops.sigmoid(ops.matmul(ops.concatenate([x, h], axis=-1), self.forget) + self.bias)",
        "f = ops.cast(ops.matmul(ops.concatenate([x, h], axis=-1), self.forget) + self.bias > 0, x.dtype)",
        "self.bias > 0",
        Cause.NON_FLOAT,
        2,
    ),
    "physics_informed": Fault("        second.watch(x)\n", "", "second.gradient(u_x, x)", Cause.NOT_WATCHED, 1),
    "quantised": Fault(
        "((quantized - tf.stop_gradient(x)) ** 2)", "((tf.stop_gradient(quantized) - x) ** 2)", "tf.stop_gradient(quantized", Cause.STOP_GRADIENT, 1
    ),
    "recommender": Fault(
        "ops.sum(user * film, axis=-1, keepdims=True)",
        'ops.cast(ops.sum(user * film, axis=-1, keepdims=True) > 0, "float32")',
        "keepdims=True) > 0",
        Cause.NON_FLOAT,
        1,
    ),
    "seq2seq": Fault(
        'name="source_words")(source_in)',
        'name="source_words")(source_in)\nembedded = keras.ops.stop_gradient(embedded)',
        "stop_gradient(embedded)",
        Cause.STOP_GRADIENT,
        1,
    ),
    "siamese": Fault("tf.maximum(near - far + self.margin, 0.0)", "tf.cast(near > far, tf.float32)", "near > far", Cause.NON_FLOAT, 8),
    "style_transfer": Fault(
        'tf.Variable(content, name="image")', 'tf.Variable(content, trainable=False, name="image")', "image", Cause.NOT_WATCHED, 1
    ),
    "transfer_learning": Fault(
        'model = keras.Model(inputs, layers.Dense(4, activation="softmax", name="head")(layers.Dropout(0.2)(x)))',
        'x = layers.Dense(4, activation="softmax", name="head")(layers.Dropout(0.2)(x))\nmodel = keras.Model(inputs, keras.ops.round(x))',
        "keras.ops.round(x)",
        Cause.GRADIENT_IS_NONE,
        2,
    ),
    "transformer": Fault("self.norm1(x + attended)", "self.norm1(x)", "attended = ", Cause.UNUSED_RESULT, 8),
    "vae": Fault(*_swapped(TAPE, "            mean, log_var, z = self.encoder(data, training=True)"), "self.encoder(data", Cause.OUTSIDE_TAPE, 8),
    "video": Fault("layers.Masking()(x)", "layers.Masking()(keras.ops.stop_gradient(x))", "stop_gradient(x)", Cause.STOP_GRADIENT, 7),
    "wgan_gp": Fault("            inner.watch(between)\n", "", "between = real", Cause.NOT_WATCHED, 1),
}
