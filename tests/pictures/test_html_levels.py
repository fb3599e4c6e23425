"""The levels as the page keeps them: texts once, routes shared, and all that a choice needs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tapetrace.model.report import Report
from tapetrace.render.html_levels import KINDS, STATUSES, levels_data, levels_json
from tapetrace.render.html_links import link
from tapetrace.render.html_picture import draw_calls
from tests.unit import drawings


def data(report: Report, call: int = 0) -> dict[str, Any]:
    pictures = draw_calls(report)
    links = link(report, {p.call: p.scene for p in pictures})
    found = levels_data(next(p.levels for p in pictures if p.call == call), links, call)
    assert json.loads(levels_json(next(p.levels for p in pictures if p.call == call), links, call)) == found
    return found


def routed(report: Report, *routes: tuple[str, ...]) -> Report:
    """The report with these routes for the first sources of its first call."""
    first, *others = report.calls
    sources = [replace(s, route=routes[i] if i < len(routes) else ()) for i, s in enumerate(first.sources)]
    return replace(report, calls=(replace(first, sources=tuple(sources)), *others))


def unfolded(found: dict[str, Any], source: int) -> list[int]:
    written = found["routes"][str(source)]
    if -1 not in written:
        return written
    at = written.index(-1)
    return [*written[:at], *unfolded(found, written[at + 1])[written[at + 2] :]]


def test_a_row_says_what_stands_on_the_box() -> None:
    found = data(drawings.vae())
    rows = {row[12]: row for row in found["boxes"] if len(row) > 12}
    parent, kind, status, heading, code, place, footnote, tooltip, numbers, flags, ops, sources, _ = rows["p0_1"]
    texts = found["texts"]
    assert (parent, KINDS[kind].value, STATUSES[status].value, numbers, flags, ops, sources) == (-1, "break", "break", [1], 0, 13, 0)
    assert [texts[t] for t in (heading, code, place)] == ["outside_tape", "rec, mu, lv = vae(x, training=True)", "vae.py:33 in train_step"]
    assert texts[footnote].split("\n")[1] == "blocks 8 variables, reopening it reconnects 8"
    assert texts[tooltip].startswith("/home/ann/samples/vae.py:33\n")
    assert rows["g0_0"][9] == 3  # a frame, and the target is in it
    assert len(set(texts)) == len(texts)


def test_every_op_names_the_box_that_it_ends_in() -> None:
    found = data(drawings.vae())
    parents = {row[0] for row in found["boxes"]}
    assert len(found["leaf"]) == 26
    assert not parents & set(found["leaf"])
    assert found["numbers"] == {str(op): 1 for op in range(8, 21)}
    assert found["targets"] == [25]
    assert found["stops"]["0"] == [12]
    tails, heads, statuses = found["edges"]
    assert {STATUSES[s].value for a, b, s in zip(tails, heads, statuses, strict=True) if b == 8} == {"break"}


def test_routes_that_go_on_alike_are_written_once() -> None:
    end = ("vae/enc/BiasAdd", "vae/enc/Relu")
    found = data(routed(drawings.vae(), ("vae/enc/kernel", "vae/enc/MatMul", *end), ("vae/enc/bias", *end), end[1:], ("vae/mu/kernel", end[0])))
    assert found["routes"]["0"] == [0, 8, 9, 10]
    assert found["routes"]["1"] == [1, -1, 0, 2]
    assert found["routes"]["2"] == [-1, 0, 3]
    assert [unfolded(found, i) for i in range(5)] == [[0, 8, 9, 10], [1, 9, 10], [10], [2, 9], []]


def test_a_route_skips_what_the_drawing_does_not_hold() -> None:
    found = data(routed(drawings.vae(), ("vae/enc/kernel", "nobody", "vae/enc/MatMul")))
    assert found["routes"]["0"] == [0, 8]


def test_each_call_holds_its_own_sources_and_places() -> None:
    first, second = data(drawings.gan(), 0), data(drawings.gan(), 1)
    assert list(first["routes"]) == ["0", "1", "2", "3"]
    assert list(second["routes"]) == [str(i) for i in range(4, 11)]
    assert first["stops"] == {}
    numpy_escape = next(i for i, row in enumerate(second["boxes"]) if row[8] == [1])
    assert [second["leaf"][op] for op in second["stops"]["0"]] == [numpy_escape]


def test_hostile_texts_are_shown_and_not_obeyed() -> None:
    found = data(drawings.hostile())
    assert any("a\\nb\\rc\\td\\x00\\x1b" in text for text in found["texts"])
    assert not any(c in text for text in found["texts"] for c in "\x00\x1b\r\u2028\ud800")
    assert levels_json(draw_calls(drawings.hostile())[0].levels, link(drawings.hostile(), {}), 0).isascii()
