"""Explanations of the causes that lie in the tape, the source or the step: what it is, how to mend it, and an example that runs as it stands."""

from __future__ import annotations

from collections.abc import Mapping

from tapetrace.model.words import Cause

EXPLAINED_STEPS: Mapping[Cause, tuple[str, str, str, str]] = {
    Cause.OUTSIDE_TAPE: (
        "The line runs when no tape records: before the `with`, after it, or before a tape.reset(). What is computed there is a constant to "
        "the tape.",
        "Move the line into the block; the loss, its sign and its sum included.",
        """
w = tf.Variable(2.0)
y = w * w
with tf.GradientTape() as tape:
    loss = 3.0 * y
gradient = tape.gradient(loss, w)
""",
        """
w = tf.Variable(2.0)
with tf.GradientTape() as tape:
    y = w * w
    loss = 3.0 * y
gradient = tape.gradient(loss, w)
""",
    ),
    Cause.RECORDING_STOPPED: (
        "The line runs inside `with tape.stop_recording()`.",
        "Move it out of that block.",
        """
w = tf.Variable(2.0)
with tf.GradientTape() as tape:
    with tape.stop_recording():
        y = w * w
    loss = 3.0 * y
gradient = tape.gradient(loss, w)
""",
        """
w = tf.Variable(2.0)
with tf.GradientTape() as tape:
    y = w * w
    loss = 3.0 * y
gradient = tape.gradient(loss, w)
""",
    ),
    Cause.NOT_WATCHED: (
        "A tape watches trainable variables by itself, and nothing else: not a plain tensor, not a variable with trainable=False, and nothing "
        "at all when it was opened with watch_accessed_variables=False. A variable turns into a plain tensor after `w = w - 0.1 * g`.",
        "Call tape.watch before the value is used; update variables with assign_sub or an optimizer.",
        """
x = tf.constant(2.0)
with tf.GradientTape() as tape:
    loss = x * x
gradient = tape.gradient(loss, x)
""",
        """
x = tf.constant(2.0)
with tf.GradientTape() as tape:
    tape.watch(x)
    loss = x * x
gradient = tape.gradient(loss, x)
""",
    ),
    Cause.NON_FLOAT_SOURCE: (
        "The variable itself is an integer, bool or string: tf.Variable(1) makes an int32. Only floating-point and complex values are "
        "differentiated.",
        "Make it with a float, or with dtype=tf.float32.",
        """
w = tf.Variable(2)
with tf.GradientTape() as tape:
    loss = 3.0 * tf.cast(w, tf.float32)
gradient = tape.gradient(loss, w)
""",
        """
w = tf.Variable(2.0)
with tf.GradientTape() as tape:
    loss = 3.0 * w
gradient = tape.gradient(loss, w)
""",
    ),
    Cause.CAPTURED_VALUE: (
        "The loss depends on a tensor that was made before the step: a weight concatenated in build(), a distribution built at import, a "
        "cached result. To the step it is a constant, even if it was computed from variables once.",
        "Compute it from the variables inside the step, under the tape.",
        """
w = tf.Variable(2.0)
doubled = 2.0 * w

@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = doubled * 3.0
    return tape.gradient(loss, w)

gradient = step()
""",
        """
w = tf.Variable(2.0)

@tf.function
def step():
    with tf.GradientTape() as tape:
        doubled = 2.0 * w
        loss = doubled * 3.0
    return tape.gradient(loss, w)

gradient = step()
""",
    ),
    Cause.NEVER_READ: (
        "The step never reads the variable: the layer that owns it was not called, or its value reached the loss by a way that TensorFlow "
        "does not see (the report lists such blind spots as suspects).",
        "Use the variable on the way to the loss, or leave it out of the sources.",
        """
used, forgotten = tf.Variable(2.0), tf.Variable(3.0)
with tf.GradientTape() as tape:
    loss = used * used
gradient = tape.gradient(loss, forgotten)
""",
        """
used, remembered = tf.Variable(2.0), tf.Variable(3.0)
with tf.GradientTape() as tape:
    loss = used * used + remembered
gradient = tape.gradient(loss, remembered)
""",
    ),
    Cause.UNUSED_RESULT: (
        "The variable is read, but what is computed from it never reaches the loss: an unused pooler, a second output without a loss, a term "
        "left out of the sum. The report shows the last line of the dead end.",
        "Add the result to the loss, or leave its variables out of the sources.",
        """
w, v = tf.Variable(2.0), tf.Variable(3.0)
with tf.GradientTape() as tape:
    penalty = v * v
    loss = w * w
gradient = tape.gradient(loss, v)
""",
        """
w, v = tf.Variable(2.0), tf.Variable(3.0)
with tf.GradientTape() as tape:
    penalty = v * v
    loss = w * w + 0.01 * penalty
gradient = tape.gradient(loss, v)
""",
    ),
    Cause.OTHER_BRANCH: (
        "The variable is connected only when one branch of a condition (if on a tensor, tf.cond, tf.switch_case) is taken. In the other steps "
        "it gets zeros in a graph, and None when run eagerly.",
        "Compute both sides and choose with tf.where, or accept it if the branch is meant.",
        """
w = tf.Variable(2.0)
use = tf.constant(False)

@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.cond(use, lambda: w * w, lambda: 1.0)
    return tape.gradient(loss, w)

gradient = step()
""",
        """
w = tf.Variable(2.0)
use = tf.constant(False)

@tf.function
def step():
    with tf.GradientTape() as tape:
        loss = tf.where(use, w * w, 0.5 * w)
    return tape.gradient(loss, w)

gradient = step()
""",
    ),
    Cause.TAPE_REUSED: (
        "A tape that is not persistent was asked a second time. It forgets what it recorded after its first answer, and raises RuntimeError.",
        "Ask for all sources in one call, open two tapes, or open the tape with persistent=True.",
        """
w, v = tf.Variable(2.0), tf.Variable(3.0)
with tf.GradientTape() as tape:
    loss = w * v
first = tape.gradient(loss, w)
gradient = tape.gradient(loss, v)
""",
        """
w, v = tf.Variable(2.0), tf.Variable(3.0)
with tf.GradientTape() as tape:
    loss = w * v
first, gradient = tape.gradient(loss, [w, v])
""",
    ),
    Cause.NUMERICALLY_ZERO: (
        "The way is open, but the number was zero, NaN or infinite when the step ran: a clipped or saturated value, a dead relu, a softmax "
        "over one unit. Only --numeric shows it, and other inputs may give another answer.",
        "Look at the values before the saturating function: scale them, clip later, or use a function that has slope everywhere.",
        """
w = tf.Variable(2.0)
with tf.GradientTape() as tape:
    loss = tf.clip_by_value(w, 0.0, 1.0)
gradient = tape.gradient(loss, w)
""",
        """
w = tf.Variable(2.0)
with tf.GradientTape() as tape:
    loss = tf.sigmoid(w)
gradient = tape.gradient(loss, w)
""",
    ),
}
