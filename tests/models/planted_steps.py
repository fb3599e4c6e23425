"""Steps with a break planted at a chosen place, each with the answer that is true by construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

import tapetrace
from tapetrace.model.report import Report
from tapetrace.model.words import Cause, Verdict
from tests.models import planting
from tests.models.networks import BATCH, Network, build_discriminator, build_generator
from tests.models.planting import Plant, Planted, cut_off, marked_line, plant_behind

BINARY = keras.losses.BinaryCrossentropy(from_logits=True)


@dataclass(frozen=True)
class Planting:
    """A step and the truth about it: for each gradient call its sources and which of them are cut off, and the break."""

    step: Callable[..., Any]
    specs: tuple[tf.TensorSpec, ...]
    sources: tuple[tuple[str, ...], ...]
    cut: tuple[frozenset[str], ...]
    cause: Cause
    types: frozenset[str]
    verdict: Verdict
    file: str
    line: int

    def check(self, verify: bool = True) -> Report:
        return tapetrace.check(self.step, *self.specs, verify=verify)


def _paths(model: keras.Model) -> tuple[str, ...]:
    return tuple(v.path for v in model.trainable_variables)


def _note(tape: tf.GradientTape) -> None:
    planting.TAPES[:] = [tape]


def supervised(network: Network, model: keras.Model) -> Callable[..., Any]:
    """An ordinary training step."""
    optimizer, loss_fn = keras.optimizers.SGD(0.1), network.loss

    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            _note(tape)
            loss = loss_fn(y, model(x, training=True))  # calls model
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients((g, v) for g, v in zip(gradients, model.trainable_variables, strict=True) if g is not None)
        return loss

    return train_step


def plant(network: Network, place: int, kind: Plant | None) -> Planting:
    """The network's step with ``kind`` planted behind layer ``place``; None: a variable that is written and read back."""
    original = network.build()
    if kind is None:
        kind = planting.variable_plant([BATCH, *original.layers[place].output.shape[1:]])
    model = plant_behind(original, {original.layers[place].name: kind.cut})
    (cut,) = [layer for layer in model.layers if isinstance(layer, Planted)]
    step = supervised(network, model)
    return Planting(
        step, (network.x, network.y), (_paths(model),), (frozenset(cut_off(model, cut)),), kind.cause, kind.types, kind.verdict,
        *kind.place(step, "model"),
    )  # fmt: skip


def plant_outside(network: Network, place: int) -> Planting:
    """The network's step with everything up to layer ``place`` computed before the tape is opened. Every way must lead through the layer."""
    model = network.build()
    cut = model.layers[place].output
    before, after = keras.Model(model.input, cut), keras.Model(cut, model.output)
    loss_fn = network.loss

    def train_step(x: Any, y: Any) -> Any:
        features = before(x, training=True)  # planted
        with tf.GradientTape() as tape:
            loss = loss_fn(y, after(features, training=True))
        return tape.gradient(loss, model.trainable_variables)

    return Planting(
        train_step, (network.x, network.y), (_paths(model),), (frozenset(_paths(before)),), Cause.OUTSIDE_TAPE, frozenset(), Verdict.NONE,
        *marked_line(train_step, "planted"),
    )  # fmt: skip


def plant_in_gan(place: int, kind: Plant, in_generator: bool) -> Planting:
    """A GAN step, which makes two gradient calls, with ``kind`` planted in one of its networks."""
    generator, discriminator = build_generator(), build_discriminator()
    planted = generator if in_generator else discriminator
    planted = plant_behind(planted, {planted.layers[place].name: kind.cut})
    if in_generator:
        generator = planted
    else:
        discriminator = planted
    (cut,) = [layer for layer in planted.layers if isinstance(layer, Planted)]
    own = frozenset(cut_off(planted, cut))
    broken = (own, frozenset()) if in_generator else (frozenset(_paths(generator)), own)

    def train_step(noise: Any, images: Any) -> Any:
        with tf.GradientTape(persistent=True) as tape:
            _note(tape)
            fakes = generator(noise, training=True)  # calls generator
            both = tf.concat([fakes, images], axis=0)
            said_fake, said_real = tf.split(discriminator(both, training=True), 2)  # calls discriminator
            generator_loss = BINARY(tf.ones_like(said_fake), said_fake)
            discriminator_loss = BINARY(tf.ones_like(said_real), said_real) + BINARY(tf.zeros_like(said_fake), said_fake)
        return (
            tape.gradient(generator_loss, generator.trainable_variables),
            tape.gradient(discriminator_loss, discriminator.trainable_variables),
        )

    return Planting(
        train_step, (tf.TensorSpec([BATCH, 8]), tf.TensorSpec([BATCH, 16, 16, 3])), (_paths(generator), _paths(discriminator)), broken,
        kind.cause, kind.types, kind.verdict, *kind.place(train_step, "generator" if in_generator else "discriminator"),
    )  # fmt: skip


def mistakes(planted: Planting, report: Report) -> list[str]:
    """Where the report is not what is true by construction; empty when all of it is right."""
    found = [*report.agreement.disagreed]
    if len(report.calls) != len(planted.cut):
        return [*found, f"{len(report.calls)} gradient calls reported"]
    for number, (call, paths, cut) in enumerate(zip(report.calls, planted.sources, planted.cut, strict=True)):
        if tuple(s.path for s in call.sources) != paths:
            found.append(f"call {number}: the sources are {[s.path for s in call.sources]}")
        for source in call.sources:
            if source.path in cut:
                found += [f"call {number}: {source.path}: {wrong}" for wrong in _wrong_break(planted, source)]
            elif source.verdict is not (Verdict.ERROR if planted.verdict is Verdict.ERROR else Verdict.CONNECTED):
                found.append(f"call {number}: {source.path}: {source.verdict.value}, yet it is not cut off")
    return [*found, *_wrong_root_causes(planted, report)]


def _wrong_break(planted: Planting, source: Any) -> list[str]:
    found = []
    if source.verdict is not planted.verdict:
        found.append(f"verdict {source.verdict.value} instead of {planted.verdict.value}")
    if not source.breaks:
        return [*found, "no break"]
    first = source.breaks[0]
    if first.cause is not planted.cause:
        found.append(f"cause {first.cause.value} instead of {planted.cause.value} ({first.type})")
    if planted.types and first.type not in planted.types:
        found.append(f"op {first.type} instead of {', '.join(sorted(planted.types))}")
    if not _is_there(planted, first.location):
        found.append(f"located at {first.location.place if first.location else None} instead of line {planted.line}")
    return found


def _is_there(planted: Planting, location: Any) -> bool:
    return location is not None and (location.file, location.line) == (planted.file, planted.line)


def reconnects(planted: Planting, call: int) -> set[str]:
    """What mending the planted break alone brings back: all sources of a call that raises, none where Python code decides.

    A call raises as soon as its target depends on an op without a gradient, even if no source lies behind it: TensorFlow walks the whole tape.
    """
    if planted.verdict is Verdict.OPAQUE:
        return set()
    return set(planted.sources[call]) if planted.verdict is Verdict.ERROR else set(planted.cut[call])


def _wrong_root_causes(planted: Planting, report: Report) -> list[str]:
    found = []
    for number, cut in enumerate(planted.cut):
        causes = [c for c in report.root_causes if c.call == number]
        if not cut and planted.verdict is not Verdict.ERROR:
            found += [f"call {number}: root cause {c.cause.value} although nothing is cut off" for c in causes]
            continue
        if not causes:
            found.append(f"call {number}: no root cause")
            continue
        first = causes[0]
        if first.cause is not planted.cause or not _is_there(planted, first.location):
            found.append(f"call {number}: root cause {first.cause.value} at {first.location.place if first.location else None}")
        if set(first.reconnects) != reconnects(planted, number):
            found.append(f"call {number}: reopening it reconnects {len(first.reconnects)} instead of {len(reconnects(planted, number))}")
        if not cut <= set(first.blocks):
            found.append(f"call {number}: it blocks {len(first.blocks)} instead of {len(cut)}")
    return found
