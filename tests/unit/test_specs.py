"""Specs: what is read, and where the caret points when it cannot be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapetrace.errors import UsageError
from tapetrace.specs import DTYPES, Spec, parse_spec


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("float32[8,28,28,1]", Spec("float32", (8, 28, 28, 1))),
        ("int64[?,10]", Spec("int64", (None, 10))),
        ("int64[None, 10]", Spec("int64", (None, 10))),
        ("float32[]", Spec("float32", ())),
        ("float32", Spec("float32", ())),
        ("float32[...]", Spec("float32", None)),
        ("float32[…]", Spec("float32", None)),
        ("bool[0]", Spec("bool", (0,))),
        (" bfloat16 [ 8 , ? ] ", Spec("bfloat16", (8, None))),
        ("labels=int32[8]", Spec("int32", (8,), "labels")),
        ("training = bool", Spec("bool", (), "training")),
    ],
)
def test_reads(text: str, expected: Spec) -> None:
    assert parse_spec(text) == expected


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 0, "a dtype is missing"),
        ("[8]", 0, "a dtype is missing"),
        ("name=[8]", 5, "a dtype is missing"),
        ("float[8]", 0, "write float32"),
        ("flaot32[8]", 0, "did you mean float32?"),
        ("x=thing[8]", 2, "write one of float16"),
        ("float32(8)", 7, "square brackets"),
        ("float32[8", 9, "closing ]"),
        ("float32[8,", 10, "closing ]"),
        ("float32[8,]", 10, "a size, ?"),
        ("float32[,8]", 8, "a size, ?"),
        ("float32[8,x]", 10, "a size, ?"),
        ("float32[8,-1]", 10, "? for an unknown size"),
        ("float32[8 9]", 8, "a size, ?"),
        ("float32[8, ...]", 11, "stands alone"),
        ("float32[..., 8]", 8, "stands alone"),
        ("float32[8]]", 10, "nothing may follow"),
        ("float32[8] int64[8]", 11, "nothing may follow"),
        ("float32[99999999999999999999]", 8, "no tensor is that large"),
    ],
)
def test_points_at_the_character(text: str, column: int, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_spec(text)
    sentence, line, caret = str(caught.value).split("\n")
    assert words in sentence
    assert f"at character {column + 1}" in sentence
    assert line == "  " + text
    assert caret == "  " + " " * column + "^"


sizes = st.one_of(st.none(), st.integers(0, 2**31))
names = st.one_of(st.just(""), st.sampled_from(["x", "labels", "_y2"]))


@given(st.builds(Spec, st.sampled_from(DTYPES), st.one_of(st.none(), st.lists(sizes, max_size=6).map(tuple)), names))
def test_text_of_a_spec_reads_back(spec: Spec) -> None:
    assert parse_spec(str(spec)) == spec


@given(st.text(alphabet="float32[],?. =x…\t\n", max_size=20))
def test_any_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    try:
        spec: Spec | None = parse_spec(text)
    except UsageError as error:
        spec, lines = None, str(error).split("\n")
    if spec is None:
        assert len(lines) == 3
        assert lines[2].index("^") <= len(lines[1])
    else:
        assert parse_spec(str(spec)) == spec
