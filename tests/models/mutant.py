"""One mutant: a network with one or two cuts at random places, the step that trains it, and the truth about it. All of it follows from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import keras
import tensorflow as tf

import tapetrace
from tapetrace.model.report import Report
from tapetrace.model.words import Cause, Verdict
from tests.models import planted_steps
from tests.models.applications import FAMILIES
from tests.models.layer_ways import Edge, LayerGraph, Way
from tests.models.networks import BATCH, NETWORKS, build_discriminator, build_generator
from tests.models.planted_calls import planted_calls
from tests.models.planting import PLANTS, Plant, marked_line, variable_plant
from tests.models.truths import CallTruth, Cut, Truth

VARIABLE, OUTSIDE = "variable", "outside_tape"
LEAVES_TAPE = frozenset({"stop_gradient", "stop_recording", "int_cast", "argmax", VARIABLE, OUTSIDE})
"""Kinds behind which a value is on no tape: the op is not recorded, or an integer is what it hands on. The result of a dataset is on it."""
KINDS = (*PLANTS, VARIABLE, OUTSIDE)
GAN = "gan"
SMALL = ("resnet", "lstm", "transformer", "unet", GAN)
EAGER_SHARES = (1, 1, 4, 4, 4)
"""How often each of ``SMALL`` runs eagerly: the first two have thousands of ops or many variables, and take ten times as long as the others."""

AT_ONCE = 50
"""Mutants that share a process, and with it one family of keras.applications, which is built once."""

TRIES = 60


@dataclass(frozen=True)
class Spot:
    """Where a cut can be: on these edges. ``behind``: the layer all of whose consumers they lead to, or None for the one edge into a consumer."""

    edges: tuple[Edge, ...]
    shape: tuple[int, ...]
    name: str
    behind: Any = None


@dataclass(frozen=True)
class Built:
    """A network that is built once and planted in many times. ``models``: one, or a generator and a discriminator."""

    name: str
    models: tuple[keras.Model, ...]
    graph: LayerGraph
    spots: tuple[Spot, ...]

    def owner(self, spot: Spot) -> int:
        """The number of the model in which the cut is computed."""
        layer = spot.behind if spot.behind is not None else spot.edges[0][0]
        return next(n for n, model in enumerate(self.models) if layer in set(model.operations))


@dataclass(frozen=True)
class Mutant:
    """A step with what is planted ``behind`` layers and on edges ``into`` others. ``relation``: how two cuts lie to one another."""

    network: str
    kinds: tuple[str, ...]
    spots: tuple[Spot, ...]
    relation: str
    mode: str
    step: Callable[..., Any]
    specs: tuple[tf.TensorSpec, ...]
    truth: Truth
    behind: Mapping[Any, list[Any]]
    into: Mapping[Edge, list[Any]]

    def __str__(self) -> str:
        cuts = ", ".join(f"{kind} {spot.name}" for kind, spot in zip(self.kinds, self.spots, strict=True))
        return f"{self.network}, {self.mode}, {self.relation}: {cuts}"

    def check(self, verify: bool = True) -> Report:
        arguments: list[Any] = list(self.specs)
        if self.mode == "eager":
            arguments = [_value(spec, seed) for seed, spec in enumerate(self.specs)]
        with planted_calls(self.behind, self.into):
            return tapetrace.check(self.step, *arguments, mode=self.mode, verify=verify)


def _value(spec: tf.TensorSpec, seed: int) -> tf.Tensor:
    if spec.dtype.is_integer:
        return tf.random.stateless_uniform(spec.shape, [1, seed], 0, 10, spec.dtype)
    return tf.random.stateless_normal(spec.shape, [1, seed], dtype=spec.dtype)


def network_of(seed: int) -> tuple[str, str]:
    """The network and the mode of this mutant: one in four is a family of keras.applications, the same for ``AT_ONCE`` of them; one in eight
    runs eagerly."""
    families = list(FAMILIES)
    if seed % 4 == 0:
        return families[(seed - 1) // AT_ONCE % len(families)], "graph"
    numbers = random.Random(f"network {seed}")
    if seed % 8 == 2:
        return numbers.choices(SMALL, EAGER_SHARES)[0], "eager"
    return numbers.choice(SMALL), "graph"


@cache
def build(name: str) -> Built:
    """The network and all the places in it that lie behind a variable."""
    keras.utils.clear_session()  # so that layers are called the same in each process
    models: tuple[keras.Model, ...] = (build_generator(), build_discriminator()) if name == GAN else ((FAMILIES | NETWORKS)[name].build(),)
    graph = LayerGraph.of(*models)
    return Built(name, models, graph, tuple(_spots(graph, graph.trained())))


def _spots(graph: LayerGraph, trained: set[Any]) -> Iterable[Spot]:
    for layer in graph.layers:
        if not isinstance(layer, keras.layers.Layer) or isinstance(layer, keras.layers.InputLayer):
            continue
        if layer in trained and _is_float(layer.output):
            yield Spot(graph.out[layer], tuple(layer.output.shape), f"behind {layer.name}", layer)
        node = layer._inbound_nodes[0]
        arguments = keras.tree.flatten(node.arguments.args)
        if len(arguments) != len(node.input_tensors) or not all(isinstance(a, keras.KerasTensor) for a in arguments):
            continue
        for place, tensor in enumerate(node.input_tensors):
            maker = tensor._keras_history.operation
            if maker in trained and _is_float(tensor):
                yield Spot(((layer, place),), tuple(tensor.shape), f"from {maker.name} into {layer.name} [{place}]")


def _is_float(tensor: Any) -> bool:
    return isinstance(tensor, keras.KerasTensor) and "float" in tensor.dtype


def draw(seed: int) -> Mutant:
    """The mutant of this seed."""
    name, mode = network_of(seed)
    numbers = random.Random(seed)
    built = build(name)
    relation = numbers.choice(("alone", "alone", "in series", "in parallel"))
    while True:
        kinds = [numbers.choice(_possible_kinds(name, mode, relation, number)) for number in range(1 if relation == "alone" else 2)]
        possible = []
        for _ in range(TRIES):
            spots = _choose(numbers, built, kinds)
            if spots and _relation(built, kinds, spots) == relation:
                possible = spots
                break
        if possible:
            break
        relation = numbers.choice(("alone", "in series"))
    return plant(built, mode, kinds, possible, relation, with_optimizer=name in SMALL and numbers.random() < 0.3)


def _possible_kinds(name: str, mode: str, relation: str, number: int) -> list[str]:
    """The kinds of the first or second cut for which the truth is known by construction.

    Nothing is planted before the begin of a tape: gradient ends there whatever it meets, and which of two closed gates is the break is a choice.
    In an eager run ``numpy_function`` is no op, and is found by changing variables: what another cut before it rounds off is not to be seen then,
    and with the many variables of a deep network it takes minutes. A persistent tape, as the GAN's, may ask the backward pass of a ``py_function``
    that ran eagerly once: the second time TensorFlow raises KeyError.
    """
    kinds = [*KINDS]
    if name == GAN or number > 0:
        kinds.remove(OUTSIDE)
    if mode == "eager" and name == GAN:
        kinds.remove("py_function")
    if mode == "eager" and (relation != "alone" or name == "resnet"):
        kinds.remove("numpy_function")
    return kinds


def _choose(numbers: random.Random, built: Built, kinds: list[str]) -> list[Spot]:
    spots: list[Spot] = []
    for kind in kinds:
        possible = [s for s in built.spots if s not in spots and (kind not in PLANTS or PLANTS[kind].accepts(s.shape))]
        if kind == OUTSIDE:
            possible = [s for s in possible if s.behind is not None and s.behind is not built.graph.layers[-1] and _is_bottleneck(built, s)]
        elif OUTSIDE in kinds:
            recorded = built.graph.behind(spots[0].behind).trained()
            possible = [s for s in possible if _maker(s) in recorded]
        forks = [s for s in possible if s.behind is None and len(built.graph.out[_maker(s)]) > 1]
        chosen = numbers.random()
        if forks and chosen < 0.4 and kind != OUTSIDE:
            possible = forks
        elif chosen < 0.7:
            possible = [s for s in possible if s.behind is not None] or possible
        if not possible:
            return []
        spots.append(numbers.choice(possible))
    return spots


def _maker(spot: Spot) -> Any:
    """The layer whose output is cut."""
    if spot.behind is not None:
        return spot.behind
    ((consumer, place),) = spot.edges
    return consumer._inbound_nodes[0].input_tensors[place]._keras_history.operation


def _is_bottleneck(built: Built, spot: Spot) -> bool:
    ways = built.graph.ways(dict.fromkeys(spot.edges, (0,)))
    return all(() not in ways[layer] for layer in built.graph.layers if isinstance(layer, keras.layers.InputLayer))


def _cuts(spots: list[Spot]) -> dict[Edge, Way]:
    """The cuts on each edge: what is behind a layer comes before what is on one of the ways from there."""
    found: dict[Edge, Way] = {}
    for behind in (True, False):
        for number, spot in enumerate(spots):
            if (spot.behind is not None) is behind:
                found.update({edge: (*found.get(edge, ()), number) for edge in spot.edges})
    return found


def _relation(built: Built, kinds: list[str], spots: list[Spot]) -> str:
    """How the cuts lie to one another, for the variables that they cut off; empty where nothing is cut off, or by one of the two alone."""
    ways = built.graph.ways(_cuts(spots))
    dead = [ways[layer] for layer in built.graph.layers if getattr(layer, "trainable_variables", ()) and () not in ways[layer]]
    if not dead:
        return ""
    if len(spots) == 1:
        return "alone"
    if any(min(map(len, found)) == 2 for found in dead):
        return "in series"
    together = any(len(way) == 2 for found in ways.values() for way in found)
    named = {n for found in dead for way in found for n in way}
    return "in parallel" if not together and named == {0, 1} else ""


def plant(built: Built, mode: str, kinds: list[str], spots: list[Spot], relation: str = "", with_optimizer: bool = False) -> Mutant:
    """The step of a network with a cut of each kind at its spot, and the truth about it; ``outside_tape`` can only come first."""
    plants = [_plant(kind, spot, built.owner(spot)) for kind, spot in zip(kinds, spots, strict=True)]
    network = None if built.name == GAN else (FAMILIES | NETWORKS)[built.name]
    if network is None:
        step, specs = planted_steps.adversarial(*built.models), (tf.TensorSpec([BATCH, 8]), tf.TensorSpec([BATCH, 16, 16, 3]))
        marks = ["generator", "discriminator"]
    else:
        (model,) = built.models
        specs, marks = (network.x, network.y), ["model"]
        if OUTSIDE in kinds:
            step = planted_steps.half_recorded(network, model, spots[0].behind)
        else:
            step = planted_steps.supervised(network, model, with_optimizer)
    cuts, behind, into = [], {}, {}
    for kind, plant, spot in zip(kinds, plants, spots, strict=True):
        if plant is None:
            cuts.append(Cut(Cause.OUTSIDE_TAPE, frozenset(), Verdict.NONE, *marked_line(step, "planted"), True))
            continue
        cuts.append(Cut(plant.cause, plant.types, plant.verdict, *plant.place(step, marks[built.owner(spot)]), kind in LEAVES_TAPE))
        if spot.behind is not None:
            behind.setdefault(spot.behind, []).append(plant.cut)
        else:
            into.setdefault(spot.edges[0], []).append(plant.cut)
    return Mutant(built.name, tuple(kinds), tuple(spots), relation, mode, step, specs, _truth(built, cuts, spots), behind, into)


def _plant(kind: str, spot: Spot, owner: int) -> Plant | None:
    """None: no function is put in, but the step is another. A discriminator, the second model, is given two batches at once."""
    if kind == OUTSIDE:
        return None
    return PLANTS[kind] if kind in PLANTS else variable_plant([BATCH * (owner + 1), *spot.shape[1:]])


def _truth(built: Built, cuts: list[Cut], spots: list[Spot]) -> Truth:
    on_edges = _cuts(spots)
    ways = built.graph.ways(on_edges)
    onward = []
    for number, spot in enumerate(spots):
        behind = {edge: on_edges[edge][on_edges[edge].index(number) + 1 :] for edge in spot.edges}
        onward.append(frozenset(rest + way for edge, rest in behind.items() for way in ways[edge[0]]))
    calls = []
    for model in built.models:
        owners = {id(v): layer for layer in model.operations for v in getattr(layer, "trainable_variables", ())}
        calls.append(CallTruth(tuple((v.path, ways[owners[id(v)]]) for v in model.trainable_variables), tuple(onward)))
    return Truth(tuple(cuts), tuple(calls))
