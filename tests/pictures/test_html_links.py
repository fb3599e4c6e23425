"""What a choice on the page lights up: the path of a source, the boxes of a place, and what comes alive when it is reopened."""

from __future__ import annotations

from dataclasses import replace

from tapetrace.model.graph import Role, Status
from tapetrace.model.locations import Location
from tapetrace.model.report import Report
from tapetrace.render.html_levels import levels_data
from tapetrace.render.html_links import link
from tapetrace.render.html_picture import draw_calls
from tapetrace.render.scene import Kind
from tests.unit import drawings
from tests.unit.drawings import LIVE
from tests.unit.reports import call, report, source


def test_reopening_a_place_revives_what_it_alone_keeps_dead() -> None:
    found = drawings.branches()
    scenes = {p.call: p.scene for p in draw_calls(found)}
    links = link(found, scenes)
    headings = {n.key: n.heading or n.code for n in scenes[0].nodes}
    cut = links.places[0]
    assert [headings[k] for k in cut.boxes] == ["non_float"]
    assert [headings[k] for k in cut.revived] == ["router/kernel", "router", "non_float"]
    assert [(headings[a], headings[b]) for a, b in cut.flows] == [("router/kernel", "router"), ("router", "non_float")]
    assert [links.sources[i].source.label for i in cut.reconnects] == ["router/kernel"]


def test_the_path_of_a_source_goes_through_the_boxes_of_its_route() -> None:
    base = drawings.branches()
    routed = replace(base.calls[0].sources[1], route=("router/kernel", "router/MatMul", "ArgMax", "GatherV2", "loss"))
    found = replace(base, calls=(replace(base.calls[0], sources=(routed,)),))
    scenes = {p.call: p.scene for p in draw_calls(found)}
    places = {n.key: n.place.partition(" ")[0] or n.heading for n in scenes[0].nodes}
    assert [places[k] for k in link(found, scenes).sources[0].path] == ["router/kernel", "heads.py:10", "heads.py:11", "heads.py:12", "heads.py:16"]


def test_an_op_of_several_outputs_is_found_by_its_first() -> None:
    d = drawings.Drawing()
    d.source("w")
    d.op("cond:0", "If", ["w"], role=Role.TARGET)
    base = drawings.report_of(d)
    found = replace(base, calls=(replace(base.calls[0], sources=(replace(base.calls[0].sources[0], route=("w", "cond")),)),))
    scenes = {p.call: p.scene for p in draw_calls(found)}
    assert link(found, scenes).sources[0].path == tuple(n.key for n in scenes[0].nodes)


def branched() -> Report:
    """What ``d`` holds enters a branch of a branch; the route of a report names no joint."""
    d = drawings.Drawing()
    d.source("d", Status.CONDITIONAL)
    at = [Location.new("f.py", line, "step", code) for line, code in enumerate(("if a:", "if b:", "y = h * d", "loss = f(y)"), 1)]
    d.op("cond/true/input:1", "If", ["d"], Status.CONDITIONAL, at[0])
    d.op("cond/true/cond/cond/true/input:0", "If", ["cond/true/input:1"], Status.CONDITIONAL, at[1])
    d.op("cond/true/cond/cond/true/cond/cond/mul", "Mul", ["cond/true/cond/cond/true/input:0"], Status.CONDITIONAL, at[2])
    d.op("loss", "Mean", ["cond/true/cond/cond/true/cond/cond/mul"], LIVE, at[3], role=Role.TARGET)
    base = drawings.report_of(d, locations=[at[3]])
    route = ("d", "cond/true/cond/cond/true/cond/cond/mul", "loss")
    return replace(base, calls=(replace(base.calls[0], sources=(replace(base.calls[0].sources[0], route=route),)),))


def test_a_path_goes_through_the_boxes_in_which_branches_begin() -> None:
    found = branched()
    (picture,) = draw_calls(found)
    links = link(found, {0: picture.scene})
    says = {n.key: n.code or n.heading for n in picture.scene.nodes}
    assert [says[k] for k in links.sources[0].path] == ["d", "if a:", "if b:", "y = h * d", "loss = f(y)"]
    assert levels_data(picture.levels, links, 0)["routes"] == {"0": [0, 1, 2, 3, 4]}


def test_sources_of_one_name_have_addresses_of_their_own() -> None:
    twice = report(call(source("a/b c"), source("a/b c")), call(source("a/b c")))
    assert [s.anchor for s in link(twice, {}).sources] == ["source=a/b%20c&call=1", "source=a/b%20c&call=1&n=2", "source=a/b%20c&call=2"]


def test_each_gradient_call_has_its_picture_and_no_box_of_another() -> None:
    first, second = draw_calls(drawings.gan())
    assert {n.kind for n in first.scene.nodes} == {Kind.SOURCES, Kind.LINE}
    assert {number for n in second.scene.nodes for number in n.numbers} == {1, 2}
    assert not any("critic" in n.heading for n in second.scene.nodes)


def test_a_source_with_a_number_in_its_name_leads_through_its_own_box() -> None:
    d = drawings.Drawing()
    for name in ("w", "w (2)"):
        d.source(name)
        d.op(f"{name}/mul", "Mul", [name])
    d.op("loss", "AddN", ["w/mul", "w (2)/mul"], role=Role.TARGET)
    found = drawings.report_of(d)
    call = replace(found.calls[0], sources=tuple(replace(s, route=(s.label, f"{s.label}/mul", "loss")) for s in found.calls[0].sources))
    found = replace(found, calls=(call,))
    (picture,) = draw_calls(found, detail="ops")
    sources = link(found, {0: picture.scene}).sources
    box = {n.key: n.heading for n in picture.scene.nodes}
    assert [box[s.path[0]] for s in sources] == ["w", "w (2)"]
