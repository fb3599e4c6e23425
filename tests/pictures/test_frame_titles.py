"""The titles of frames: no arrow runs through them where another side is free."""

from __future__ import annotations

import pytest

from tapetrace.model.graph import Status
from tapetrace.render import picture
from tapetrace.render.dot import scene_to_dot
from tapetrace.render.engines import lay_out
from tapetrace.render.frame_titles import sides_of_titles
from tapetrace.render.picture import draw
from tapetrace.render.scene import Kind, Scene, SceneEdge, SceneGroup, SceneNode
from tests.unit import drawings


def framed(title: str) -> Scene:
    """A frame with a narrow box on the left, which an arrow enters from above, and a wide one beside it."""
    nodes = [
        SceneNode(key, Kind.LINE, Status.LIVE, text, group=group) for key, text, group in (("a", "a", None), ("b", "b", "g"), ("c", "c" * 60, "g"))
    ]
    return Scene("t", "s", tuple(nodes), (SceneEdge("a", "b", Status.LIVE),), (SceneGroup("g", title, None),))


def layout(scene: Scene) -> bytes:
    return lay_out(scene_to_dot(scene), "json0")


@pytest.mark.parametrize(("title", "sides"), [("f", {}), ("title of a frame", {"g": "r"}), ("x" * 72, {})], ids=["free", "crossed", "as wide"])
def test_a_title_stands_on_the_side_that_fewest_arrows_cross(title: str, sides: dict[str, str]) -> None:
    assert sides_of_titles(layout(framed(title))) == sides


@pytest.mark.parametrize("form", ["svg", "png"])
def test_pictures_place_titles_so(form: str) -> None:
    scene = framed("title of a frame")
    assert draw(drawings.vae(), scene, form)[1] == lay_out(scene_to_dot(scene, sides={"g": "r"}), form) != lay_out(scene_to_dot(scene), form)


def test_an_engine_that_cannot_say_where_things_lie_still_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "lay_out", lambda dot, form, *, time_limit: b"no JSON" if form == "json0" else b"drawn")
    assert draw(drawings.vae(), framed("title of a frame"), "svg")[1] == b"drawn"
