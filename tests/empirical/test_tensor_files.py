"""Safetensors files without torch: the library reads them, and every damage is seen."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors import numpy as library

from empirical.tensor_files import FORMAT, RawTensor, checksum, read_words, save_file, verify_file
from tests.empirical.support import refused

Arrays = dict[str, NDArray[np.generic]]
ARRAYS: Arrays = {
    "z": np.arange(6, dtype=np.float64).reshape(2, 3),
    "a": np.array([True, False, True]),
    "single": np.linspace(0, 1, 5, dtype=np.float32),
    "none": np.zeros((0, 4), dtype=np.int16),
    "one": np.array(7, dtype=np.int64),
    "ä": np.arange(3, dtype=np.uint8),
}
WORDS = json.dumps({"part": "x", "n": 3})


def raw(arrays: Arrays) -> dict[str, RawTensor]:
    return {name: RawTensor(a.dtype.name, a.shape, a.tobytes()) for name, a in arrays.items()}


def bytes_of(arrays: Arrays, metadata: dict[str, str]) -> bytes:
    file = io.BytesIO()
    save_file(raw(arrays), file, metadata=metadata)
    return file.getvalue()


def whole(path: Path, arrays: Arrays = ARRAYS, words: str = WORDS) -> bytes:
    """Write a file of ours, and return its bytes."""
    sums = {"format": FORMAT, "words": words, "sha256": checksum(raw(arrays), words)}
    path.write_bytes(bytes_of(arrays, sums))
    return path.read_bytes()


def test_the_library_reads_what_is_written() -> None:
    content = bytes_of(ARRAYS, {"b": "1", "a": 'ä \x7f\n"'})
    read = library.load(content)
    assert read.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert read[name].dtype == array.dtype
        np.testing.assert_array_equal(read[name], array)
    # Where order is not free, in metadata and in types as wide, the library writes these bytes.
    metadata, some = (
        {"a": 'ä \x7f\n"'},
        {name: ARRAYS[name] for name in ("z", "a", "single", "none")},
    )
    assert bytes_of(some, metadata) == library.save(some, metadata)


def test_same_content_same_bytes() -> None:
    texts = {str(k): str(k) for k in range(20)}
    first = bytes_of(ARRAYS, texts)
    other = bytes_of(dict(reversed(ARRAYS.items())), dict(reversed(texts.items())))
    assert first == other


def test_what_is_whole_says_what_it_is(tmp_path: Path) -> None:
    whole(tmp_path / "x")
    found = verify_file(tmp_path / "x")
    assert found.words == read_words(tmp_path / "x") == {"part": "x", "n": 3}
    assert found.sha256 == checksum(raw(ARRAYS), WORDS)


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
    for words in ("[1]", "[" * 100_000, "nothing"):
        whole(tmp_path / "x", words=words)
        refused("words that are a JSON object", verify_file, tmp_path / "x")
        refused("words that are a JSON object", read_words, tmp_path / "x")


def test_tensors_of_another_size_or_type_are_refused() -> None:
    refused("data: expected 12 bytes, got 8", RawTensor, "float32", (3,), bytes(8))
    refused("kind: expected one of", RawTensor, "complex64", (), bytes(8))
