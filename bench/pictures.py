"""How long a picture of a large network takes, once the check is done, and how large it is. ``python bench/pictures.py``.

Each network has a ``tf.stop_gradient`` planted in its middle. Every format is written from the finished report, at each ``--detail``; the best of
``--rounds`` counts. It ends with exit code 1 when an SVG takes longer than `SLOWEST` or a page is larger than `LARGEST`.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tapetrace
from tapetrace.api import write_report

SLOWEST = 3.0
"""Seconds that an SVG may take."""
LARGEST = 5_000_000
"""Bytes that a page may have."""
FORMATS = ("svg", "pdf", "html")
DETAILS = ("line", "ops", "layers")

MIDDLE = {"ResNet50": "conv3_block4_out", "EfficientNetB7": "block4a_project_bn"}
"""The layer behind which the gradient is stopped; every way leads through it."""


def application(name: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The step of a network of keras.applications at 224 × 224 whose first half is cut off, and what it is traced with."""
    import keras
    import tensorflow as tf

    class Freeze(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return tf.stop_gradient(x)

    whole = getattr(keras.applications, name)(input_shape=(224, 224, 3), weights=None)
    middle = whole.get_layer(MIDDLE[name]).output
    model = keras.Model(whole.input, keras.Model(middle, whole.output, name="upper_half")(Freeze(name="freeze")(middle)))
    loss_fn = keras.losses.SparseCategoricalCrossentropy()

    def train_step(images: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_fn(labels, model(images, training=True))
        return tape.gradient(loss, model.trainable_variables)

    return train_step, (tf.TensorSpec([8, 224, 224, 3], tf.float32), tf.TensorSpec([8], tf.int32))


def transformer(layers: int = 24, width: int = 32, length: int = 16, vocabulary: int = 100) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The step of a decoder-only transformer, written as layers of its own, whose first half is cut off; and what it is traced with."""
    import keras
    import tensorflow as tf

    class Block(keras.layers.Layer):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.norm1 = keras.layers.LayerNormalization(name="norm1")
            self.attention = keras.layers.MultiHeadAttention(4, width // 4, name="attention")
            self.norm2 = keras.layers.LayerNormalization(name="norm2")
            self.up = keras.layers.Dense(4 * width, activation="gelu", name="up")
            self.down = keras.layers.Dense(width, name="down")

        def call(self, x: Any) -> Any:
            h = self.norm1(x)
            x = x + self.attention(h, h, use_causal_mask=True)
            return x + self.down(self.up(self.norm2(x)))

    class LanguageModel(keras.Model):
        def __init__(self) -> None:
            super().__init__(name="lm")
            self.token = keras.layers.Embedding(vocabulary, width, name="token")
            self.position = keras.layers.Embedding(length, width, name="position")
            self.blocks = [Block(name=f"block{i}") for i in range(layers)]
            self.logits = keras.layers.Dense(vocabulary, name="logits")

        def call(self, tokens: Any) -> Any:
            x = self.token(tokens) + self.position(tf.range(length))
            for i, block in enumerate(self.blocks):
                x = block(x)
                if i == layers // 2:
                    x = tf.stop_gradient(x)
            return self.logits(x)

    model = LanguageModel()
    model(tf.zeros([1, length], tf.int32))
    loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def train_step(tokens: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_fn(tokens[:, 1:], model(tokens[:, :-1], training=True))
        return tape.gradient(loss, model.trainable_variables)

    return train_step, (tf.TensorSpec([4, length + 1], tf.int32),)


def report_of(network: str, kept: Path) -> tapetrace.Report:
    """The report on a network, read from the folder ``kept`` when it is there already."""
    file = kept / f"{network}.json"
    if not file.exists():
        step, specs = transformer() if network == "transformer" else application(network)
        tapetrace.check(step, *specs, verify=False, target=f"bench/pictures.py:{network}").write(file)
    return tapetrace.load(file)


def measure(network: str, kept: Path, formats: list[str], details: list[str], rounds: int) -> bool:
    """Print a line for each detail; whether all of it is quick and small enough."""
    report = report_of(network, kept)
    print(f"{network}: {len(report.drawing.nodes):,} nodes, {len(report.drawing.edges):,} edges")
    fine = True
    for detail in details:
        cells = []
        for suffix in formats:
            path = kept / f"{network}-{detail}.{suffix}"
            seconds = min(_seconds(report, path, detail) for _ in range(rounds))
            size = path.stat().st_size
            bad = (suffix == "svg" and seconds > SLOWEST) or (suffix == "html" and size > LARGEST)
            fine = fine and not bad
            cells.append(f"{suffix} {seconds:6.2f} s {size / 1e3:8,.0f} kB{' !' if bad else ''}")
        print(f"  {detail:7}" + "   ".join(cells), flush=True)
    return fine


def _seconds(report: tapetrace.Report, path: Path, detail: str) -> float:
    begun = time.perf_counter()
    write_report(report, path, detail=detail)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=["ResNet50", "EfficientNetB7", "transformer"], choices=[*MIDDLE, "transformer"])
    parser.add_argument("--formats", nargs="+", default=list(FORMATS))
    parser.add_argument("--details", nargs="+", default=list(DETAILS), choices=DETAILS)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="A folder for the reports and the pictures; reports that are there are not made again.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = options.keep or Path(folder)
        fine = [measure(name, kept, options.formats, options.details, options.rounds) for name in options.networks]
    sys.exit(not all(fine))


if __name__ == "__main__":
    main()
