"""Breaks planted into real networks: the report must name exactly what was planted, and exactly the variables that it cuts off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import pytest
import tensorflow as tf

import tapetrace
from tapetrace.model.report import Report
from tapetrace.model.words import Cause, Verdict
from tests.models import mutants
from tests.models.holding_against import FIRSTS, LINES, ORDERS, VERDICTS, hold_against
from tests.models.layer_ways import LayerGraph
from tests.models.mutant import GAN, OUTSIDE, SMALL, VARIABLE, Built, Mutant, Spot, build, draw, plant
from tests.models.networks import LOGITS, NETWORKS, Network
from tests.models.planted_steps import supervised
from tests.models.planting import PLANTS, marked_line


def behind(built: Built, kind: type[Any], number: int = 0) -> Spot:
    """Behind the layer of that kind with that number."""
    return [s for s in built.spots if isinstance(s.behind, kind)][number]


def wrong(mutant: Mutant, report: Report | None = None) -> list[str]:
    return hold_against(mutant.truth, report or mutant.check()).wrong


@pytest.mark.parametrize("kind", [*PLANTS, VARIABLE])
def test_each_kind_of_break_in_a_network_with_skip_connections(kind: str) -> None:
    unet = build("unet")
    planted = plant(unet, "graph", [kind], [behind(unet, keras.layers.Conv2DTranspose)])
    (call,) = planted.truth.calls
    assert 0 < len(planted.truth.cut_off(call)) < len(call.sources)
    answers = hold_against(planted.truth, planted.check())
    assert answers.wrong == []
    assert answers.asked[VERDICTS] == len(call.sources)
    assert answers.asked[LINES] == len(planted.truth.cut_off(call))
    assert answers.asked[FIRSTS] == 1


@pytest.mark.parametrize("kind", ["round", "custom_zero", "snapshot", "stop_recording"])
def test_the_answer_is_the_same_without_the_backward_pass(kind: str) -> None:
    lstm = build("lstm")
    planted = plant(lstm, "graph", [kind], [behind(lstm, keras.layers.LSTM)])
    report = planted.check(verify=False)
    assert wrong(planted, report) == []
    assert report.agreement.checked == 0


@pytest.mark.parametrize(("name", "layer"), [("lstm", keras.layers.LSTM), ("resnet", keras.layers.ReLU)])
def test_everything_before_the_tape(name: str, layer: type[Any]) -> None:
    built = build(name)
    planted = plant(built, "graph", [OUTSIDE], [behind(built, layer)])
    assert 0 < len(planted.truth.cut_off(planted.truth.calls[0])) < len(planted.truth.calls[0].sources)
    assert wrong(planted) == []


@pytest.mark.parametrize("layer", [keras.layers.Conv2DTranspose, keras.layers.Flatten])
def test_one_of_the_two_calls_of_a_gan_step(layer: type[Any]) -> None:
    gan = build(GAN)
    planted = plant(gan, "graph", ["round"], [behind(gan, layer)])
    cut = [len(planted.truth.cut_off(call)) for call in planted.truth.calls]
    assert cut[0] > 0
    assert (cut[1] > 0) is (layer is keras.layers.Flatten)
    assert wrong(planted) == []


def test_one_of_the_two_ways_of_a_residual_block() -> None:
    """Only what lies on the way that is cut loses its gradient: not what comes before the fork."""
    resnet = build("resnet")
    add = next(layer for layer in resnet.graph.layers if isinstance(layer, keras.layers.Add) and layer is not resnet.graph.layers[-1])
    second = [s for s in resnet.spots if s.behind is None and s.edges[0] == (add, 1)]
    planted = plant(resnet, "graph", ["stop_gradient"], second)
    (call,) = planted.truth.calls
    own = {v.path for layer in resnet.graph.layers if resnet.graph.ways({(add, 1): (0,)})[layer] == {(0,)} for v in layer_variables(layer)}
    assert set(planted.truth.cut_off(call)) == own
    assert "conv2d/kernel" not in own
    assert 0 < len(own) < 20
    assert wrong(planted) == []


def layer_variables(layer: Any) -> list[Any]:
    return getattr(layer, "trainable_variables", [])


@pytest.mark.parametrize(
    ("first", "second", "mode"),
    [
        ("round", "sign", "graph"),
        ("numpy_function", "stop_recording", "graph"),
        ("custom_zero", "argmax", "graph"),
        ("custom_zero", "argmax", "eager"),
    ],
)
def test_two_breaks_in_series_are_both_named_in_order(first: str, second: str, mode: str) -> None:
    """Variables before both are cut off twice, those between once, those behind not at all."""
    lstm = build("lstm")
    planted = plant(lstm, mode, [first, second], [behind(lstm, keras.layers.Embedding), behind(lstm, keras.layers.Bidirectional)])
    report = planted.check()
    answers = hold_against(planted.truth, report)
    assert answers.wrong == []
    assert answers.asked[ORDERS] == 1
    sources = report.calls[0].sources
    assert [len(s.breaks) for s in sources] == [2] + [1] * (len(sources) - 5) + [0] * 4
    assert sources[0].verdict is Verdict.NONE or (first, second) == ("round", "sign")
    assert len(report.root_causes) == 2
    nearer, further = sorted(report.root_causes, key=lambda c: len(c.reconnects))
    assert nearer.reconnects == ()
    assert set(further.reconnects) == {s.path for s in sources[1:-4]}
    assert report.root_causes[0] is further


def test_mending_a_break_behind_which_a_call_would_raise_brings_nothing_back() -> None:
    lstm = build("lstm")
    planted = plant(lstm, "graph", ["snapshot", "round"], [behind(lstm, keras.layers.Embedding), behind(lstm, keras.layers.Bidirectional)])
    report = planted.check()
    assert [(c.cause, len(c.blocks), c.reconnects) for c in report.root_causes] == [
        (Cause.GRADIENT_IS_NONE, len(report.calls[0].sources) - 4, ()), (Cause.NO_GRADIENT_REGISTERED, 1, ()),
    ]  # fmt: skip


@pytest.mark.parametrize("mode", ["graph", "eager"])
def test_an_op_behind_a_dataset_is_on_the_tape_and_raises(mode: str) -> None:
    lstm = build("lstm")
    planted = plant(lstm, mode, ["dataset", "snapshot"], [behind(lstm, keras.layers.Embedding)] * 2)
    report = planted.check()
    assert hold_against(planted.truth, report).wrong == []
    assert report.calls[0].error is not None
    assert report.agreement.disagreed == ()


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


def test_breaks_at_random() -> None:
    """Seeds that are drawn from the small networks; one in eight runs eagerly."""
    totals = mutants.run([seed for seed in range(2001, 2012) if seed % 4], progress=False)
    assert totals.wrong == []
    assert totals.right[mutants.ALL] == 9
    assert totals.made["mode eager"] == 2


def test_a_family_of_keras_applications_at_random() -> None:
    totals = mutants.run([4, 8])
    assert totals.wrong == []
    assert totals.right["network MobileNet"] == 2


def test_a_seed_is_all_that_a_mutant_needs() -> None:
    assert {draw(seed).network for seed in range(1, 30, 2)} == set(SMALL)
    assert str(draw(17)) == str(draw(17)) != str(draw(21))


def test_the_ways_through_a_fork() -> None:
    x = image = keras.layers.Input((4,))
    x = first = keras.layers.Dense(4)(x)
    x = keras.layers.Add()([x, keras.layers.Dense(4)(x)])
    model = keras.Model(image, keras.layers.Dense(4)(x))
    graph = LayerGraph.of(model)
    _, one, two, add, last = model.operations
    assert graph.ways({(add, 1): (0,), (last, 0): (1,)}) == {
        None: {()}, last: {()}, add: {(1,)}, two: {(0, 1)}, one: {(1,), (0, 1)}, model.operations[0]: {(1,), (0, 1)},
    }  # fmt: skip
    assert first._keras_history.operation is one
