"""Explanations of the causes that lie in an op: what it is, how to mend it, and an example that runs as it stands.

Each example asks for ``gradient``; before the mend it is None or zeros (or the call raises), after it real gradient. The tests run them all.
"""

from __future__ import annotations

from collections.abc import Mapping

from tapetrace.model.words import Cause

EXPLAINED_OPS: Mapping[Cause, tuple[str, str, str, str]] = {
    Cause.STOP_GRADIENT: (
        "The value goes through tf.stop_gradient (or an op that forbids a gradient). Nothing before it on this way is trained. That is often "
        "meant, for a target network or a straight-through estimator, and often left over.",
        "Remove the stop, or leave the variables that it freezes out of the sources.",
        """
w = tf.Variable(2.0)
with tf.GradientTape() as tape:
    loss = tf.stop_gradient(w * w)
gradient = tape.gradient(loss, w)
""",
        """
w = tf.Variable(2.0)
with tf.GradientTape() as tape:
    loss = w * w
gradient = tape.gradient(loss, w)
""",
    ),
    Cause.PYTHON_FUNCTION: (
        "The value goes through Python code that TensorFlow runs as one op. The tape cannot see into tf.numpy_function; it sees into "
        "tf.py_function only as far as TensorFlow ops are used inside: NumPy in there yields zeros without a warning.",
        "Write the code with tf. functions, or give it a gradient of its own with tf.custom_gradient.",
        """
w = tf.Variable(2.0)
with tf.GradientTape() as tape:
    loss = tf.numpy_function(lambda v: v * v, [2.0 * w], tf.float32)
gradient = tape.gradient(loss, w)
""",
        """
@tf.custom_gradient
def square(v):
    y = tf.numpy_function(lambda v: v * v, [v], tf.float32)
    return y, lambda upstream: upstream * 2.0 * v

w = tf.Variable(2.0)
with tf.GradientTape() as tape:
    loss = square(w * 1.0)
gradient = tape.gradient(loss, w)
""",
    ),
    Cause.NUMPY_ESCAPE: (
        "The value left TensorFlow, by .numpy(), a np. function, float(), int(), .tolist(), model.predict or get_weights, and came back as a "
        "constant. The tape knows nothing of what was computed in between.",
        "Keep the value a tensor and use tf. functions; call the model, model(x, training=True), instead of predict.",
        """
w = tf.Variable(2.0)
with tf.GradientTape() as tape:
    y = np.square(w.numpy())
    loss = tf.reduce_sum(y * 3.0)
gradient = tape.gradient(loss, w)
""",
        """
w = tf.Variable(2.0)
with tf.GradientTape() as tape:
    y = tf.square(w)
    loss = tf.reduce_sum(y * 3.0)
gradient = tape.gradient(loss, w)
""",
    ),
    Cause.VARIABLE_WRITE: (
        "The value is written into a variable (assign, assign_add, scatter_update) and read back from it. A read is a fresh start for the tape: "
        "gradient reaches the variable that was written to, not what was written.",
        "Use the value itself in the loss, and write it into the variable only to keep it.",
        """
w, kept = tf.Variable(2.0), tf.Variable(0.0)
with tf.GradientTape() as tape:
    kept.assign(w * w)
    loss = 3.0 * kept
gradient = tape.gradient(loss, w)
""",
        """
w, kept = tf.Variable(2.0), tf.Variable(0.0)
with tf.GradientTape() as tape:
    y = w * w
    kept.assign(y)
    loss = 3.0 * y
gradient = tape.gradient(loss, w)
""",
    ),
    Cause.DATASET: (
        "The value goes through a tf.data pipeline or Dataset.reduce, whose functions run outside the tape. A loop over a dataset inside a "
        "tf.function is a Dataset.reduce too: it has gradient when run eagerly, and None in a graph.",
        "Loop over a tensor, or iterate over the dataset outside the step and hand each batch in.",
        """
w = tf.Variable(2.0)
rows = tf.constant([1.0, 2.0, 3.0])
with tf.GradientTape() as tape:
    loss = tf.data.Dataset.from_tensor_slices(rows).reduce(0.0, lambda total, row: total + w * row)
gradient = tape.gradient(loss, w)
""",
        """
w = tf.Variable(2.0)
rows = tf.constant([1.0, 2.0, 3.0])
with tf.GradientTape() as tape:
    loss = 0.0
    for row in rows:
        loss += w * row
gradient = tape.gradient(loss, w)
""",
    ),
    Cause.CUSTOM_GRADIENT: (
        "The function has a tf.custom_gradient whose grad function returns None, or something that ignores the incoming gradient, for this "
        "input or variable. A function that uses variables must return their gradients as a second list. In a graph, a value "
        "that grad captures from outside counts as a constant.",
        "Return the incoming gradient times the derivative for each input, and a list for the variables.",
        """
w = tf.Variable(2.0)

@tf.custom_gradient
def scale(x):
    return w * x, lambda upstream, variables: (upstream * w, [None])

with tf.GradientTape() as tape:
    loss = scale(tf.constant(3.0))
gradient = tape.gradient(loss, w)
""",
        """
w = tf.Variable(2.0)

@tf.custom_gradient
def scale(x):
    return w * x, lambda upstream, variables: (upstream * w, [upstream * x])

with tf.GradientTape() as tape:
    loss = scale(tf.constant(3.0))
gradient = tape.gradient(loss, w)
""",
    ),
    Cause.NO_GRADIENT_REGISTERED: (
        "TensorFlow's gradient registry has no entry for the op, so tape.gradient raises LookupError for the whole call, even for variables "
        "that have a good way of their own. `tapetrace ops NAME` says what is registered in the TensorFlow installed here.",
        "Build the value of ops that have a gradient, wrap the op in tf.custom_gradient, or move it before the first weight.",
        """
w = tf.Variable(0.5)
image = tf.random.uniform([1, 4, 4, 3])
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(tf.image.adjust_contrast(w * image, 2.0) ** 2)
gradient = tape.gradient(loss, w)
""",
        """
w = tf.Variable(0.5)
image = tf.random.uniform([1, 4, 4, 3])
with tf.GradientTape() as tape:
    x = w * image
    m = tf.reduce_mean(x, axis=[-3, -2], keepdims=True)
    loss = tf.reduce_sum(((x - m) * 2.0 + m) ** 2)
gradient = tape.gradient(loss, w)
""",
    ),
    Cause.NON_FLOAT: (
        "The value is an integer, bool or string here: a cast to an integer, a comparison, argmax, argsort, a sampled class, text. Only "
        "floating-point and complex values carry gradient.",
        "Keep the value float: a sigmoid for a decision, softmax weights for a choice, a straight-through estimator where the hard value is needed.",
        """
w = tf.Variable([0.2, 0.9])
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(tf.cast(w > 0.5, tf.float32))
gradient = tape.gradient(loss, w)
""",
        """
w = tf.Variable([0.2, 0.9])
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(tf.sigmoid(10.0 * (w - 0.5)))
gradient = tape.gradient(loss, w)
""",
    ),
    Cause.NOT_DIFFERENTIABLE: (
        "TensorFlow declares the op not differentiable, so the gradient ends here in silence.",
        "Build the value of ops that are differentiable, or give the op a gradient with tf.custom_gradient.",
        """
w = tf.Variable([[0.3, 0.5, 0.7]])
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(tf.image.hsv_to_rgb(w))
gradient = tape.gradient(loss, w)
""",
        """
w = tf.Variable([[0.3, 0.5, 0.7]])
with tf.GradientTape() as tape:
    h, s, v = tf.unstack(w, axis=-1)
    ks = [(n + 6.0 * h) % 6.0 for n in (5.0, 3.0, 1.0)]
    rgb = [v - v * s * tf.maximum(0.0, tf.minimum(tf.minimum(k, 4.0 - k), 1.0)) for k in ks]
    loss = tf.reduce_sum(tf.stack(rgb, axis=-1))
gradient = tape.gradient(loss, w)
""",
    ),
    Cause.GRADIENT_IS_NONE: (
        "A gradient function is registered for the op and returns None for this input: round, floor, ceil, the indices of gather. Lists that count "
        "every registered op as differentiable are wrong about these.",
        "Use a smooth function, or pass the gradient straight through.",
        """
w = tf.Variable([0.2, 1.9])
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(tf.round(w) ** 2)
gradient = tape.gradient(loss, w)
""",
        """
w = tf.Variable([0.2, 1.9])
with tf.GradientTape() as tape:
    rounded = w + tf.stop_gradient(tf.round(w) - w)
    loss = tf.reduce_sum(rounded**2)
gradient = tape.gradient(loss, w)
""",
    ),
    Cause.GRADIENT_IS_ZERO: (
        "The gradient function of the op returns zeros whatever arrives. TensorFlow hands back a tensor, warns of nothing, and the variable "
        "never moves.",
        "Use a smooth function, or pass the gradient straight through.",
        """
w = tf.Variable([-0.2, 1.9])
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(tf.sign(w))
gradient = tape.gradient(loss, w)
""",
        """
w = tf.Variable([-0.2, 1.9])
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(tf.tanh(3.0 * w))
gradient = tape.gradient(loss, w)
""",
    ),
    Cause.NOT_PROBED: (
        "TensorFlow's gradient function for the op could not be asked outside the step, so tapetrace claims nothing about what lies behind it; or "
        "it raised in the step itself, and then nothing gets a gradient from that call.",
        "Run the check with --numeric: the number that the step yields decides. If the call raises, mend what the exception says.",
        "",
        "",
    ),
}
