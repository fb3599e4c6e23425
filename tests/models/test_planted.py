"""Breaks planted into real networks: the report must name exactly what was planted, and exactly the variables that it cuts off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.words import Cause, Verdict
from tests.models import mutants
from tests.models.networks import LOGITS, NETWORKS, Network
from tests.models.planted_steps import mistakes, plant, plant_in_gan, plant_outside, supervised
from tests.models.planting import PLANTS, Plant, Planted, cut_off, cuts_everything, marked_line, places, plant_behind


@pytest.mark.parametrize("kind", [*PLANTS, mutants.VARIABLE])
def test_each_kind_of_break_in_a_network_with_skip_connections(kind: str) -> None:
    unet = NETWORKS["unet"]
    model = unet.build()
    place = next(i for i, layer in enumerate(model.layers) if isinstance(layer, keras.layers.Conv2DTranspose))
    planted = plant(unet, place, PLANTS.get(kind))
    assert 0 < len(planted.cut[0]) < len(planted.sources[0])
    assert mistakes(planted, planted.check()) == []


@pytest.mark.parametrize("kind", ["round", "custom_zero", "snapshot", "stop_recording"])
def test_the_answer_is_the_same_without_the_backward_pass(kind: str) -> None:
    planted = plant(NETWORKS["lstm"], 2, PLANTS[kind])
    report = planted.check(verify=False)
    assert mistakes(planted, report) == []
    assert report.agreement.checked == 0


@pytest.mark.parametrize("name", ["lstm", "mobilenet"])
def test_everything_before_the_tape(name: str) -> None:
    network = NETWORKS[name]
    model = network.build()
    everything = [p for p in places(model)[:-1] if cuts_everything(model, model.layers[p])]
    planted = plant_outside(network, everything[len(everything) // 2])
    assert mistakes(planted, planted.check()) == []


@pytest.mark.parametrize("in_generator", [True, False])
def test_one_of_the_two_calls_of_a_gan_step(in_generator: bool) -> None:
    planted = plant_in_gan(3, PLANTS["round"], in_generator)
    assert [bool(cut) for cut in planted.cut] == ([True, False] if in_generator else [True, True])
    assert mistakes(planted, planted.check()) == []


def two_in_series(first: Plant, second: Plant) -> None:
    """Variables before both are cut off twice, those between once, those behind not at all."""
    network = NETWORKS["mobilenet"]
    original = network.build()
    everything = [layer for layer in original.layers if cuts_everything(original, layer) and cut_off(original, layer)]
    near, far = everything[len(everything) // 4], everything[3 * len(everything) // 4]
    model = plant_behind(original, {near.name: first.cut, far.name: second.cut})
    one, two = [layer for layer in model.layers if isinstance(layer, Planted)]
    before, cut = set(cut_off(model, one)), set(cut_off(model, two))
    assert 0 < len(before) < len(cut) < len(model.trainable_variables)
    step = supervised(network, model)
    report = tapetrace.check(step, network.x, network.y)
    assert report.agreement.disagreed == ()
    for source in report.calls[0].sources:
        expected = [first, second] if source.path in before else [second] if source.path in cut else []
        assert [b.cause for b in source.breaks] == [plant.cause for plant in expected], source.path
        assert [b.type in plant.types for b, plant in zip(source.breaks, expected, strict=True)] == [True] * len(expected)
        places = [(b.location.file, b.location.line) for b in source.breaks if b.location]
        assert places == [plant.place(step, "model") for plant in expected]
        assert source.verdict.is_broken is bool(expected)
    nearer, further = sorted(report.root_causes, key=lambda c: len(c.reconnects))
    assert (nearer.cause, set(nearer.blocks), nearer.reconnects) == (first.cause, before, ())
    assert (further.cause, set(further.blocks), set(further.reconnects)) == (second.cause, cut, cut - before)
    assert report.root_causes[0] is further


@pytest.mark.parametrize(("first", "second"), [("round", "sign"), ("numpy_function", "stop_recording"), ("custom_zero", "argmax")])
def test_two_breaks_in_series_are_both_named_in_order(first: str, second: str) -> None:
    two_in_series(PLANTS[first], PLANTS[second])


class RoundingCell(keras.layers.LSTMCell):
    """An LSTM cell whose output is rounded in every step of the loop."""

    def call(self, inputs: Any, states: Any, training: bool = False) -> Any:
        output, (_, carry) = super().call(inputs, states, training=training)
        rounded = tf.round(output)  # planted
        return rounded, [rounded, carry]


def rounding_network(unroll: bool) -> Callable[[], keras.Model]:
    def build() -> keras.Model:
        words = keras.layers.Input((6,), dtype="int32")
        x = keras.layers.RNN(RoundingCell(8), unroll=unroll)(keras.layers.Embedding(50, 8)(words))
        return keras.Model(words, keras.layers.Dense(10)(x))

    return build


@pytest.mark.parametrize("unroll", [False, True])
def test_inside_the_loop_of_a_recurrent_layer(unroll: bool) -> None:
    lstm = NETWORKS["lstm"]
    network = Network("rounding", rounding_network(unroll), lstm.x, lstm.y, LOGITS)
    model = network.build()
    report = tapetrace.check(supervised(network, model), network.x, network.y)
    assert report.agreement.disagreed == ()
    cut = {v.path for layer in model.layers[1:3] for v in layer.trainable_variables}
    assert {s.path for s in report.calls[0].sources if s.verdict is Verdict.NONE or s.verdict is Verdict.ZERO} == cut
    assert {s.path for s in report.calls[0].sources if s.verdict is Verdict.CONNECTED} == {v.path for v in model.layers[3].trainable_variables}
    for path in report.broken:
        location = path.breaks[0].location
        assert location is not None
        assert (path.source.cause, path.breaks[0].type) == (Cause.GRADIENT_IS_NONE, "Round")
        assert (location.file, location.line) == marked_line(RoundingCell.call, "planted")
    assert set(report.root_causes[0].reconnects) == cut
    assert (report.root_causes[0].cause, report.root_causes[0].dominates) == (Cause.GRADIENT_IS_NONE, True)


def test_twenty_breaks_at_random() -> None:
    totals = mutants.run(20, seed=2026)
    assert totals.wrong == []
    assert sum(totals.right[name] for name in mutants.NAMES) == 20
