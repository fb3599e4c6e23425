"""The steps that train a network in which something is planted. The lines to which a report may point are marked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from tests.models import planting
from tests.models.networks import Network

BINARY = keras.losses.BinaryCrossentropy(from_logits=True)


def _note(tape: tf.GradientTape) -> None:
    planting.TAPES[:] = [tape]


def supervised(network: Network, model: keras.Model, with_optimizer: bool = True) -> Callable[..., Any]:
    """An ordinary training step; ``with_optimizer=False`` leaves out the update, which is half of its graph."""
    optimizer, loss_fn = keras.optimizers.SGD(0.1), network.loss

    def train_step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            _note(tape)
            loss = loss_fn(y, model(x, training=True))  # calls model
        gradients = tape.gradient(loss, model.trainable_variables)
        found = [(g, v) for g, v in zip(gradients, model.trainable_variables, strict=True) if g is not None]
        if with_optimizer and found:
            optimizer.apply_gradients(found)
        return loss

    return train_step


def half_recorded(network: Network, model: keras.Model, last: Any) -> Callable[..., Any]:
    """A step in which all up to the layer ``last`` is computed before the tape is opened. Every way must lead through that layer."""
    before, after = keras.Model(model.input, last.output), keras.Model(last.output, model.output)
    loss_fn = network.loss

    def train_step(x: Any, y: Any) -> Any:
        features = before(x, training=True)  # planted
        with tf.GradientTape() as tape:
            _note(tape)
            loss = loss_fn(y, after(features, training=True))  # calls model
        return tape.gradient(loss, model.trainable_variables)

    return train_step


def adversarial(generator: keras.Model, discriminator: keras.Model) -> Callable[..., Any]:
    """A GAN step, which makes two gradient calls: the generator's, then the discriminator's."""

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

    return train_step
