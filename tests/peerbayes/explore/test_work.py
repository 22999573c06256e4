"""What workers do: the work itself, in this process; share links."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

import peerbayes as pb
from peerbayes.explorer.work import WORK, is_link, read_link, warm_steps


def asked(name: str, /, **request: Any) -> Any:
    """Work itself, as a worker does it."""
    return json.loads(json.dumps(WORK[name].function(json.loads(json.dumps(request)), None)))


def test_open_and_save_are_those_of_the_files(tmp_path: Path) -> None:
    state = asked("open", name="p2-star a=0.1")
    for suffix in ("toml", "json"):
        saved = asked("save", document=state["document"], format=suffix)
        file = pb.save(pb.load("p2-star a=0.1"), tmp_path / f"star.{suffix}")
        assert saved == {"text": file.read_text("utf-8"), "file_name": f"p2-star-a-0.1.{suffix}"}
        for form in (suffix, None):
            again = asked("open", text=saved["text"], format=form)
            assert again["document"] == state["document"]


@pytest.mark.parametrize(
    ("name", "request_", "words"),
    [
        ("open", {"name": "p2-stra"}, "did you mean 'p2-star'"),
        ("open", {"name": "/etc/passwd"}, "name: expected the name of a built-in problem"),
        ("open", {"name": "pyproject.toml"}, "name: expected the name of a built-in problem"),
        ("open", {"name": 3}, "name: expected the name of a built-in problem"),
        ("open", {"text": "a = 1\nb = ]"}, "^line 2, column 5: expected valid TOML"),
        ("open", {"text": "{1}", "format": "json"}, "^line 1, column 2: expected valid JSON"),
        ("open", {"text": "a = ["}, "end of document: expected valid TOML"),
        ("open", {"text": '{"network": 1}', "format": "json"}, "^model: "),
        ("edit", {"document": 3}, "document: expected a table"),
        ("edit", {"document": {}, "edits": {}}, "edits: expected a list"),
        ("save", {"document": {}}, "expected"),
        ("certify", {}, "document: expected a table"),
    ],
)
def test_refusals_of_work(name: str, request_: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words) as error:
        asked(name, **request_)
    assert "\n" not in str(error.value)
    assert "/tmp" not in str(error.value)


def test_an_edited_builtin_gets_a_name_of_its_own() -> None:
    """Records are named after problems: those of the built-in are not to be mistaken for them."""
    step = {"kind": "set-weight", "from": 1, "to": 0, "value": "1/2"}
    for name in ("two-coins", "p2-star a=0.1"):
        opened = asked("open", name=name)["document"]
        first = asked("edit", document=opened, edits=[step])["document"]
        assert first["name"] == f"{opened['name']}-edited"
        again = asked("edit", document=first, edits=[{**step, "value": "1/3"}])["document"]
        assert again["name"] == first["name"]
        named = asked("edit", document=first, edits=[{"kind": "set-name", "name": "mine"}])
        assert named["document"]["name"] == named["view"]["name"] == "mine"
        assert asked("edit", document=opened, edits=[])["document"] == opened
    coins = asked("open", name="two-coins")["document"]
    designed = asked("design", document=coins, objective="rate")
    assert designed["document"]["name"] == "two-coins-edited"


def test_workers_get_warm_without_a_fault() -> None:
    """A step that fails is passed over in silence, and what it warms stays cold."""
    steps = list(warm_steps())
    assert len(steps) > 5
    for step in steps:
        step()


def test_certify_and_analyse_are_those_of_the_front() -> None:
    document = asked("open", name="two-coins")["document"]
    for name, certified in (("certify", True), ("analyse", False)):
        result = asked(name, document=document, delta=0.01)
        words = result.pop("words")
        front = json.loads(
            json.dumps(pb.analyse("two-coins", delta=0.01, certify=certified).as_json())
        )
        assert result == front
        assert words == front["notes"]
    with pytest.raises(ValueError, match="delta: expected a number in"):
        asked("certify", document=document, delta=2)


def link(table: Any) -> str:
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(json.dumps(table).encode()) + packer.flush()
    return "http://127.0.0.1:9/#problem=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def test_a_share_link_opens_what_was_shared() -> None:
    state = asked("open", name="two-coins")
    shared = link({"document": state["document"], "positions": [[0, 1], [1, 0]]})
    assert is_link(shared)
    assert asked("start", problem=shared) == {
        **state, "positions": [[0, 1], [1, 0]],
        "numbers": {**state["numbers"], "milliseconds": pytest.approx(0, abs=1e4)},
    }  # fmt: skip
    assert not is_link("p2-star")
    assert not is_link("folder/#problem=.toml")


@pytest.mark.parametrize(
    ("damaged", "got"),
    [
        ("#problem=", "one that is cut off or too long"),
        ("#problem=%%%", "one that is damaged"),
        ("#problem=/w", "one that is damaged"),
        (link({"document": {}})[:-4], "one that is cut off or too long"),
        (link({"document": {"a": "x" * 4_000_001}}), "one that is cut off or too long"),
        ("#problem=" + "A" * 2_000_001, "one of 2000010 characters"),
        (link({"document": 3}), "one without a problem"),
        (link([1]), "one without a problem"),
        (link({"a": 1}), "one without a problem"),
    ],
)
def test_damaged_links(damaged: str, got: str) -> None:
    with pytest.raises(ValueError, match=f"PROBLEM: expected a whole share link, got {got}; "):
        read_link(damaged)
