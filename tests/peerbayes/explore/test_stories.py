"""The stories of the gallery are whole, and what they say in numbers is so."""

from __future__ import annotations

import pytest

import peerbayes as pb
from peerbayes.explorer.gallery import STORIES, gallery, story
from peerbayes.problem.reading import problem_from_document
from tests.peerbayes.explore.story_numbers import check


@pytest.mark.parametrize("name", ["expert", "liar"])  # of the others: tests/thorough
def test_every_number_in_a_text_is_computed_again(name: str) -> None:
    check(name)


@pytest.mark.parametrize("name", STORIES)
def test_stories_are_whole(name: str) -> None:
    answer = story({"name": name})
    assert answer["title"]
    assert answer["about"].endswith(".")
    assert len(answer["steps"]) >= 5
    for step in answer["steps"]:
        problem_from_document(step["document"], source=name)
        assert 80 < len(step["text"]) < 560
        assert "\n" not in step["text"]
        assert step["do"] is None or step["do"]["view"] in ("run", "design", "numbers")
        assert step["look_at"]


def test_an_unknown_story_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(ValueError, match=r"story: expected one of .*did you mean 'expert'"):
        story({"name": "experts"})
    with pytest.raises(ValueError, match="story"):
        story({})


def test_the_gallery_has_every_builtin_and_says_what_needs_data() -> None:
    entries = {entry["name"]: entry for entry in gallery()["problems"]}
    assert set(entries) == set(pb.BUILTINS)
    needing = {name for name, entry in entries.items() if "needs the image files" in entry["about"]}
    assert needing == {name for name, family in pb.BUILTINS.items() if family.needs_data}
    for name in ("two-coins", "restless-ring", "rotating-star", "liars-torus", "p1-regression"):
        kinds = {"Problem": "finite", "ChangingProblem": "changing"}
        kinds |= {"FaultyProblem": "faulty", "RegressionProblem": "regression"}
        assert entries[name]["kind"] == kinds[type(pb.load(name)).__name__]
