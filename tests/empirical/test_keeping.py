"""Tensors on disk: what is read back is what was written, or nothing is; libraries read it too."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import torch as library

from empirical.keeping import (
    FORMAT,
    Generations,
    _Raw,
    load_tensors,
    read_words,
    save_file,
    save_tensors,
    verify_file,
)
from tests.empirical.support import refused

WORDS = {"round": 3, "names": ["a", "ä"], "share": 0.1}


def some_tensors() -> dict[str, torch.Tensor]:
    """Of several types and shapes, two that share their memory, and one that is not contiguous."""
    generator = torch.Generator().manual_seed(0)
    both = torch.randn(4, 3, generator=generator)
    return {
        "float": both,
        "again": both,
        "row": both[1],
        "across": both.T,
        "double": torch.randn(2, dtype=torch.float64, generator=generator),
        "half": torch.randn(3, generator=generator).to(torch.bfloat16),
        "whole": torch.arange(5),
        "one": torch.tensor(7),
        "small": torch.arange(3, dtype=torch.uint8),
        "true": torch.tensor([True, False]),
        "none": torch.empty(0, 2, dtype=torch.int16),
    }


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    path, tensors = tmp_path / "made" / "x.safetensors", some_tensors()
    sha256 = save_tensors(path, tensors, WORDS)
    kept = load_tensors(path)
    assert kept.words == WORDS
    assert kept.sha256 == sha256
    assert kept.tensors.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert kept.tensors[name].dtype == tensor.dtype
        assert kept.tensors[name].shape == tensor.shape
        assert torch.equal(kept.tensors[name], tensor)
    assert [entry.name for entry in path.parent.iterdir()] == ["x.safetensors"]
    verified = verify_file(path)
    assert (verified.words, verified.sha256, verified.tensors) == (WORDS, sha256, {})
    assert read_words(path) == WORDS
    # Any other program reads it too; and where order is not free, in metadata and in types as wide,
    # it writes these bytes.
    read = library.load(path.read_bytes())
    assert all(torch.equal(read[name], tensors[name]) for name in tensors)


def test_the_bytes_are_the_librarys_where_order_is_not_free() -> None:
    some = {name: some_tensors()[name] for name in ("whole", "half", "float", "none")}
    some, metadata = {**some, "ä": torch.tensor([True, False])}, {"a": 'ä \x7f\n"'}
    file = io.BytesIO()
    save_file({name: _Raw.of(name, x) for name, x in some.items()}, file, metadata=metadata)
    assert file.getvalue() == library.save(some, metadata)


def test_same_content_same_bytes(tmp_path: Path) -> None:
    tensors = some_tensors()
    assert save_tensors(tmp_path / "x", tensors, WORDS) == save_tensors(
        tmp_path / "y", dict(reversed(tensors.items())), WORDS
    )
    assert (tmp_path / "x").read_bytes() == (tmp_path / "y").read_bytes()


def test_the_checksum_is_of_everything(tmp_path: Path) -> None:
    base = {"x": torch.zeros(2, 2), "y": torch.zeros(2)}
    changed = [
        (base, {"round": 1}),
        (base, {"round": 2}),
        ({**base, "x": torch.zeros(4)}, {"round": 1}),
        ({**base, "x": torch.zeros(2, 2, dtype=torch.int32)}, {"round": 1}),
        ({"z": base["x"], "y": base["y"]}, {"round": 1}),
        ({**base, "y": torch.tensor([0.0, -0.0])}, {"round": 1}),
    ]
    sums = {save_tensors(tmp_path / "x", tensors, words) for tensors, words in changed}
    assert len(sums) == len(changed)


@pytest.mark.parametrize("read", [load_tensors, verify_file])
def test_a_changed_byte_is_seen_wherever_it_is(tmp_path: Path, read: Any) -> None:
    path = tmp_path / "x"
    save_tensors(path, {"x": torch.arange(6.0), "y": torch.ones(3)}, {"round": 3})
    whole, kept = path.read_bytes(), load_tensors(path)
    unseen, said = 0, set[tuple[bool, bool]]()
    for place in range(len(whole)):
        for flipped in (1, 0x80):
            changed = bytearray(whole)
            changed[place] ^= flipped
            path.write_bytes(changed)
            try:
                again = read(path)
            except ValueError as error:
                said.add((str(error).startswith(str(path)), "\n" in str(error)))
                continue
            # Blanks that pad the header may change; what is read may not.
            unseen += 1
            assert (again.words, again.sha256) == (kept.words, kept.sha256)
            tensors = load_tensors(path).tensors
            assert all(torch.equal(tensors[k], kept.tensors[k]) for k in kept.tensors)
    # Seven blanks at most; and every refusal is one line that names the file.
    assert unseen <= 14
    assert said == {(True, False)}


@pytest.mark.parametrize("read", [load_tensors, verify_file])
def test_truncated_and_lengthened_files_are_refused(tmp_path: Path, read: Any) -> None:
    path = tmp_path / "x"
    save_tensors(path, some_tensors(), WORDS)
    content = path.read_bytes()
    for share in (0.0, 0.01, 0.1, 0.5, 0.8, 0.99, 1.0):
        cut = int(share * (len(content) - 1))
        for wrong in (content[:cut], content + bytes(1 + cut % 8)):
            path.write_bytes(wrong)
            refused("a damaged or truncated file", read, path)


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    refused("no such file", load_tensors, path)
    library.save_file({"x": torch.zeros(1)}, path)
    refused("another safetensors file", load_tensors, path)
    refused(
        "tensor 'x': expected one of",
        save_tensors,
        path,
        {"x": torch.zeros(1, dtype=torch.cfloat)},
        {},
    )


HEADERS = [
    b"[]", b"null", b"{", b"\xff", b'{"__metadata__": []}', b"[" * 100_000,
    b'{"__metadata__":{"format":"peerbayes-tensors 1","words":"{}","sha256":""},"x":3}',
    b'{"__metadata__":{"format":"peerbayes-tensors 1","words":"{}","sha256":""},"x":'
    b'{"dtype":"F99","shape":[],"data_offsets":[0,0]}}',
    b'{"__metadata__":{"format":"peerbayes-tensors 1","words":"{}","sha256":""},"x":'
    b'{"dtype":"F32","shape":["a"],"data_offsets":[0,4]}}',
    b'{"__metadata__":{"format":"peerbayes-tensors 1","words":3,"sha256":""}}',
]  # fmt: skip


@pytest.mark.parametrize("header", HEADERS, ids=range(len(HEADERS)))
def test_headers_that_are_none(header: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    refused(r"a safetensors file|written by peerbayes", verify_file, path)
    # The words alone are read where the header has any, whatever it says of the tensors.
    if b'"words":"{}"' in header:
        assert read_words(path) == {}
    else:
        refused("a safetensors file", read_words, path)


def test_places_with_no_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        refused("got no such file", verify_file, path)
    (tmp_path / "huge").write_bytes(b"\xff" * 100)
    refused("damaged or truncated", verify_file, tmp_path / "huge")


def test_words_that_are_no_object(tmp_path: Path) -> None:
    """A file whose checksum is right, of words that are none."""
    for words in ("[1]", "[" * 100_000, "nothing"):
        sha256 = hashlib.sha256(f"{FORMAT} {len(words)}:{words}".encode()).hexdigest()
        with (tmp_path / "x").open("wb") as file:
            save_file({}, file, metadata={"format": FORMAT, "words": words, "sha256": sha256})
        refused("words that are a JSON object", verify_file, tmp_path / "x")
        refused("words that are a JSON object", read_words, tmp_path / "x")


def test_places_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused("a file that can be written", save_tensors, tmp_path / "file" / "x", {}, {})
    (tmp_path / "folder" / "full").mkdir(parents=True)
    with pytest.raises(ValueError, match="a file that can be written"):
        save_tensors(tmp_path / "folder", {"x": torch.zeros(1)}, {})
    assert not list(tmp_path.glob(".folder.*"))


# Generations ----------------------------------------------------------------------------------


def generations(folder: Path, fingerprint: str = "f", said: list[str] | None = None) -> Generations:
    return Generations(folder / "run", fingerprint, None if said is None else said.append)


def state(number: int) -> dict[str, torch.Tensor]:
    return {"x": torch.full((4,), float(number))}


def done(kept: object) -> int | None:
    return None if kept is None else int(kept.words["done"])  # type: ignore[attr-defined]


def test_the_newest_is_read(tmp_path: Path) -> None:
    own = generations(tmp_path)
    assert own.load() is None
    for number in range(1, 5):
        own.save(number, state(number), {"n": number})
        kept = generations(tmp_path).load()
        assert kept is not None
        assert kept.words == {"n": number, "done": number, "fingerprint": "f"}
        assert torch.equal(kept.tensors["x"], state(number)["x"])
    own.remove()
    assert list(tmp_path.iterdir()) == []


def test_only_the_older_file_is_written_over(tmp_path: Path) -> None:
    def sums() -> dict[str, str]:
        return {
            p.name: hashlib.sha256(p.read_bytes()).hexdigest()
            for p in generations(tmp_path).slots
            if p.exists()
        }

    own = generations(tmp_path)
    for number in range(1, 6):
        newest, before = own.newest, sums()
        own.save(number, state(number), {})
        if newest is not None:
            assert own.newest != newest
            assert sums()[newest.name] == before[newest.name]
    # A run that was taken up again goes on where the first left off.
    again = generations(tmp_path)
    again.load()
    before = sums()
    again.save(6, state(6), {})
    assert [p for p in before if sums()[p] == before[p]] == [own.newest.name]  # type: ignore[union-attr]


@pytest.mark.parametrize("damage", ["truncated", "changed", "empty", "gone"])
def test_a_damaged_newest_gives_way_to_the_one_before(damage: str, tmp_path: Path) -> None:
    own = generations(tmp_path)
    own.save(10, state(10), {})
    own.save(20, state(20), {})
    newest = own.newest
    assert newest is not None
    content = bytearray(newest.read_bytes())
    if damage == "gone":
        newest.unlink()
    else:
        content[-2] ^= 4
        newest.write_bytes({"truncated": content[:-5], "changed": content, "empty": b""}[damage])
    said: list[str] = []
    again = generations(tmp_path, said=said)
    assert done(again.load()) == 10
    if damage != "gone":
        assert [str(newest) in sentence for sentence in said] == [True, False]
        assert said[1].endswith("used instead, of round 10")
    # The good one stays until there is another: the next is written over the damaged one.
    again.save(15, state(15), {})
    assert again.newest == newest
    assert done(generations(tmp_path).load()) == 15


def test_nothing_is_read_if_both_are_damaged(tmp_path: Path) -> None:
    own = generations(tmp_path)
    for number in (1, 2):
        own.save(number, state(number), {})
    for path in own.slots:
        path.write_bytes(path.read_bytes()[:-1])
    said: list[str] = []
    assert generations(tmp_path, said=said).load() is None
    assert len(said) == 2


def test_a_run_of_other_settings_is_not_gone_on_with(tmp_path: Path) -> None:
    generations(tmp_path, "f").save(9, state(9), {})
    said: list[str] = []
    other = generations(tmp_path, "g", said)
    assert other.load() is None
    assert "of other settings" in said[0]
    other.save(1, state(1), {})
    assert done(generations(tmp_path, "g").load()) == 1
    assert generations(tmp_path, "f").load() is None


def test_a_new_run_leaves_nothing_of_the_old(tmp_path: Path) -> None:
    old = generations(tmp_path)
    for number in (7, 8):
        old.save(number, state(number), {})
    generations(tmp_path).save(1, state(1), {})
    assert done(generations(tmp_path).load()) == 1


@pytest.mark.parametrize("when", ["empirical.keeping.save_file", "os.fsync", "os.replace"])
def test_a_run_that_is_killed_while_writing(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = generations(tmp_path)
    own.save(1, state(1), {})
    own.save(2, state(2), {})

    def killed(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(when, killed)
        with pytest.raises(KeyboardInterrupt):
            own.save(3, state(3), {})
    assert done(generations(tmp_path).load()) == 2
    # Killed for good, nobody tidies up but the end of the next run.
    (tmp_path / ".run.0.safetensors.0123abcd").write_bytes(b"half")
    own.remove()
    assert list(tmp_path.iterdir()) == []
