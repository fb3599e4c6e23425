"""What is true of each sample: for a source whose name holds ``source``, the verdict, the cause, and code on the line that must be mended."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


@dataclass(frozen=True, slots=True)
class Expected:
    """``call`` is the index of the gradient call; ``returned`` what TensorFlow hands back; ``zeros``, whether it is a tensor of zeros."""

    sample: str
    call: int
    source: str
    verdict: str
    cause: str | None = None
    line: str = ""
    returned: str = "tensor"
    zeros: bool = False


def _dead(sample: str, call: int, source: str, cause: str, line: str) -> Expected:
    return Expected(sample, call, source, "none", cause, line, returned="none")


def _alive(sample: str, call: int, source: str) -> Expected:
    return Expected(sample, call, source, "connected")


EXPECT = (
    *(_dead("vae", 0, name, "outside_tape", "rec, mu, logvar = vae(x, training=True)") for name in ("enc/", "mu/", "logvar/", "dec/")),
    _alive("gan", 0, "disc_"),
    _dead("gan", 1, "gen_", "stop_gradient", "fake = tf.stop_gradient(generator(noise, training=True))"),
    _dead("vq_vae", 0, "codebook", "stop_gradient", "return z + tf.stop_gradient(picked - z)"),
    _alive("vq_vae", 0, "enc_dense"),
    _alive("vq_vae", 0, "dec_dense"),
    _dead("policy_gradient", 0, "policy_", "non_float", "actions = tf.random.categorical(logits, 1)[:, 0]"),
    _alive("policy_gradient", 0, "critic_"),
    _dead("quantisation", 0, "kernel", "gradient_is_none", "kernel = tf.round(levels) * self.scale"),
    _alive("quantisation", 0, "bias"),
    _alive("quantisation", 0, "scale"),
    *(_alive("maml", 0, name) for name in ("w1", "b2")),
    *(_dead("maml", 1, name, "outside_tape", "fast = adapt(meta, x_support, y_support)") for name in ("w1", "b1", "w2", "b2")),
    Expected("rnn_branch", 0, "memory", "conditional", "other_branch", "if tf.reduce_mean(tf.abs(x)) > 0.8:"),
    _alive("rnn_branch", 0, "cell"),
    _alive("rnn_branch", 0, "readout"),
    _dead("argmax_loss", 0, "conv", "non_float", "predicted = tf.argmax(logits, axis=-1, output_type=tf.int32)"),
    _dead("argmax_loss", 0, "logits", "non_float", "predicted = tf.argmax(logits, axis=-1, output_type=tf.int32)"),
    Expected("pinn", 0, "tensor", "zero", "gradient_is_none", "x_cell = tf.floor(x * CELLS) / CELLS", zeros=True),
    _alive("pinn", 1, "tensor"),
    _alive("pinn", 3, "hidden1"),
    _dead("multi_head", 0, "depth", "unused_result", 'loss_depth = tf.reduce_mean(tf.abs(predicted["depth"] - depth))'),
    _alive("multi_head", 0, "backbone"),
    _alive("multi_head", 0, "segmentation"),
    *(
        Expected("segmentation_contrast", 0, name, "error", "no_gradient_registered", "x = tf.image.adjust_contrast(x, 1.5)", "error", True)
        for name in ("down", "middle")
    ),
    *(
        _dead("moving_average", 0, name, "variable_write", "smoothed.assign(DECAY * smoothed + (1.0 - DECAY) * batch_loss)")
        for name in ("hidden", "out")
    ),
    *(
        _dead("numpy_function", 0, name, "python_function", "ssim = tf.numpy_function(similarity, [restored, clean], tf.float32)")
        for name in ("conv1", "conv2")
    ),
    Expected("py_function", 0, "kernel", "opaque", "python_function", "loss = tf.py_function(pairwise_hinge, [scores, relevance], tf.float32)"),
    _dead("adversarial", 0, "tensor", "not_watched", "gradient = tape.gradient(loss, image)"),
    _alive("contrastive", 0, "out"),
    *(
        _dead("mobilenet", 0, name, "gradient_is_none", "return tf.round((activations - low) / step)")
        for name in ("Conv1", "bn_Conv1", "block_1_", "block_12_")
    ),
    *(_alive("mobilenet", 0, name) for name in ("block_13_", "block_16_", "Conv_1", "predictions")),
    _alive("healthy_cnn", 0, "cnn/"),
    _alive("healthy_gan", 0, "disc_"),
    _alive("healthy_gan", 1, "gen_"),
    _alive("healthy_pinn", 0, "tensor"),
    _alive("healthy_pinn", 1, "tensor"),
    _alive("healthy_pinn", 2, "net/"),
    _alive("healthy_transformer", 0, "lm/"),
)

NOT_ASKED = {
    "contrastive": ("temperature",),
}
"""Paths of the trainable variables that are live and in no call's sources."""

BROKEN = sorted({e.sample for e in EXPECT if e.verdict in ("none", "zero", "error")})
ALL = sorted({e.sample for e in EXPECT})
