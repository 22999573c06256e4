"""Finding, verifying and reading image files: tiny files with their own checksums."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pooch
import pytest
import requests

from empirical import DataNotFound, Images, load_digits, load_images, locate
from empirical import data as module
from tests.empirical.support import checksums, fashion_mnist, idx, refused, tiny_dataset, write

IMAGES = "train-images-idx3-ubyte.gz"
LABELS = "train-labels-idx1-ubyte.gz"
FASHION, DIGITS = tiny_dataset(seed=0), tiny_dataset(seed=1)


class NoNetwork:
    """Stands for requests.get where every connection fails."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, *args: object, **kwargs: object) -> None:
        self.calls += 1
        raise requests.exceptions.ConnectionError("no\nroute")


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> NoNetwork:
    """Tiny data sets with known checksums, in none of the usual places, and no internet."""
    monkeypatch.setattr(
        module, "CHECKSUMS", {"fashion-mnist": checksums(FASHION), "mnist": checksums(DIGITS)}
    )
    monkeypatch.setattr(
        module, "DEBIAN_FOLDERS", {"fashion-mnist": tmp_path / "debian" / "fashion-mnist"}
    )
    monkeypatch.setattr(module, "_cache", lambda dataset: tmp_path / "cache" / dataset)
    monkeypatch.delenv("PEERBAYES_DATA", raising=False)
    network = NoNetwork()
    monkeypatch.setattr("requests.get", network)
    return network


def decoded(content: bytes, ndim: int) -> np.ndarray:
    """Parse IDX another way than the reader does: with numpy's big-endian integers."""
    sizes = np.frombuffer(content[4 : 4 + 4 * ndim], dtype=">u4")
    return np.array(list(content[4 + 4 * ndim :]), dtype=np.uint8).reshape(sizes)


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("layout", ["", "fashion-mnist"])
def test_both_layouts_are_read(tmp_path: Path, layout: str, split: str) -> None:
    write(tmp_path / "here" / layout, FASHION)
    images = load_images("fashion-mnist", split, directory=tmp_path / "here")
    prefix = module.SPLITS[split]
    np.testing.assert_array_equal(
        images.pixels, decoded(FASHION[f"{prefix}-images-idx3-ubyte.gz"], 3)
    )
    np.testing.assert_array_equal(
        images.labels, decoded(FASHION[f"{prefix}-labels-idx1-ubyte.gz"], 1)
    )
    assert len(images) == {"train": 12, "test": 6}[split]
    assert images.name == "fashion-mnist"
    assert images.classes[9] == "ankle boot"
    assert images.white == 255
    assert not images.pixels.flags.writeable
    assert not images.labels.flags.writeable


def test_another_compression_of_the_same_content_is_the_same_data(tmp_path: Path) -> None:
    a = load_images("mnist", directory=write(tmp_path / "a", DIGITS, level=9))
    b = load_images("mnist", directory=write(tmp_path / "b", DIGITS, level=0))
    np.testing.assert_array_equal(a.pixels, b.pixels)


def test_places_are_searched_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached = write(tmp_path / "cache" / "fashion-mnist", FASHION)
    assert locate("fashion-mnist") == cached
    debian = write(tmp_path / "debian" / "fashion-mnist", FASHION)
    assert locate("fashion-mnist") == debian
    write(tmp_path / "variable" / "fashion-mnist", FASHION)
    monkeypatch.setenv("PEERBAYES_DATA", str(tmp_path / "variable"))
    assert locate("fashion-mnist") == tmp_path / "variable" / "fashion-mnist"
    given = write(tmp_path / "given", FASHION)
    assert locate("fashion-mnist", directory=given) == given


def test_a_variable_without_the_set_falls_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    debian = write(tmp_path / "debian" / "fashion-mnist", FASHION)
    for folder in ("absent", "empty", "other"):
        monkeypatch.setenv("PEERBAYES_DATA", str(tmp_path / folder))
        if folder == "empty":
            (tmp_path / folder).mkdir()
        if folder == "other":  # mnist's files have the same names
            write(tmp_path / folder, DIGITS)
        assert locate("fashion-mnist") == debian
    assert locate("mnist") == tmp_path / "other"


def test_a_damaged_file_in_the_variables_folder_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not be passed over in silence."""
    write(tmp_path / "debian" / "fashion-mnist", FASHION)
    folder = write(tmp_path / "variable", FASHION)
    (folder / LABELS).write_bytes(b"no gzip")
    monkeypatch.setenv("PEERBAYES_DATA", str(folder))
    refused("a readable gzip file", load_images, "fashion-mnist")


def one_line(error: pytest.ExceptionInfo[ValueError]) -> str:
    message = str(error.value)
    assert "\n" not in message
    return message


def test_data_nowhere_says_where_it_looked_and_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DataNotFound) as error:
        load_images("fashion-mnist")
    message = one_line(error)
    for part in (
        str(tmp_path / "debian"),
        str(tmp_path / "cache"),
        "--data DIR",
        "PEERBAYES_DATA is not set",
        "dataset-fashion-mnist",
        module.DOWNLOADS["fashion-mnist"],
    ):
        assert part in message
    with pytest.raises(DataNotFound) as error:
        load_images("mnist")
    assert "Debian" not in one_line(error)


def test_a_failed_download_is_one_attempt_and_one_line(
    nowhere: NoNetwork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PEERBAYES_DATA", str(tmp_path / "absent"))
    with pytest.raises(DataNotFound) as error:
        load_images("fashion-mnist", download=True)
    message = one_line(error)
    assert nowhere.calls == 1
    assert (
        f"the download from {module.DOWNLOADS['fashion-mnist']} failed (ConnectionError)" in message
    )
    assert str(tmp_path / "absent") in message
    assert list((tmp_path / "cache").rglob("*.gz")) == []


class Server:
    """Stands for requests.get where the files are served."""

    def __init__(self, contents: dict[str, bytes]) -> None:
        self.contents = contents
        self.urls: list[str] = []

    def __call__(self, url: str, **kwargs: object) -> Server:
        self.urls.append(url)
        assert kwargs["timeout"] == module.TIMEOUT
        self.body = gzip.compress(self.contents[url.rpartition("/")[2]])
        self.headers = {"content-length": str(len(self.body))}
        return self

    def raise_for_status(self) -> None:
        pass

    def iter_content(self, chunk_size: int) -> list[bytes]:
        return [self.body]

    def close(self) -> None:
        pass


def test_a_download_is_verified_cached_and_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pooch.get_logger().addHandler(caplog.handler)
    server = Server(DIGITS)
    monkeypatch.setattr("requests.get", server)
    steps: list[tuple[int, int]] = []
    folder = locate(
        "mnist", download=True, progress=lambda done, total: steps.append((done, total))
    )
    assert folder == tmp_path / "cache" / "mnist"
    assert server.urls == [module.DOWNLOADS["mnist"] + name for name in DIGITS]
    assert steps == [(k, 4) for k in range(1, 5)]
    images = load_images("mnist", download=True)
    np.testing.assert_array_equal(images.pixels, decoded(DIGITS[IMAGES], 3))
    assert len(server.urls) == 4  # nothing was fetched twice
    pooch.get_logger().removeHandler(caplog.handler)
    assert caplog.records == []  # standard error belongs to the caller


def test_a_forged_download_is_refused_and_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("requests.get", Server(FASHION))
    with pytest.raises(DataNotFound) as error:
        load_images("mnist", download=True)
    assert "SHA-256" in one_line(error)
    assert list((tmp_path / "cache").rglob("*.gz")) == []


def test_a_given_directory_is_the_only_place(tmp_path: Path) -> None:
    write(tmp_path / "debian" / "fashion-mnist", FASHION)
    with pytest.raises(ValueError, match="which is no directory") as error:
        load_images("fashion-mnist", directory=tmp_path / "nothing")
    assert not isinstance(error.value, DataNotFound)
    for layout in ("", "fashion-mnist"):
        place = tmp_path / f"partial{layout}"
        folder = write(place / layout, FASHION)
        (folder / LABELS).unlink()
        with pytest.raises(ValueError, match=re.escape(LABELS)) as error:
            load_images("fashion-mnist", directory=place)
        assert not isinstance(error.value, DataNotFound)
        assert str(place) in one_line(error)
        assert "put the four fashion-mnist files there" in str(error.value)


def test_a_wrong_checksum_names_file_expected_and_got(tmp_path: Path) -> None:
    altered = bytearray(FASHION[IMAGES])
    altered[-1] ^= 1  # one bit of one pixel
    folder = write(tmp_path / "altered", {**FASHION, IMAGES: bytes(altered)})
    with pytest.raises(ValueError, match="SHA-256") as error:
        load_images("fashion-mnist", directory=folder)
    message = one_line(error)
    assert str(folder / IMAGES) in message
    assert checksums(FASHION)[IMAGES] in message
    assert checksums({IMAGES: bytes(altered)})[IMAGES] in message
    assert "fetch the file again" in message


def test_another_data_sets_file_is_recognised(tmp_path: Path) -> None:
    folder = write(tmp_path / "other", DIGITS)
    refused(f"that of {IMAGES} of mnist", load_images, "fashion-mnist", directory=folder)


@pytest.mark.parametrize("damage", ["truncated", "garbled", "plain", "empty", "folder"])
def test_a_damaged_file_is_one_line(tmp_path: Path, damage: str) -> None:
    folder = write(tmp_path / "damaged", FASHION)
    path = folder / IMAGES
    whole = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    else:
        garbled = whole[:10] + b"\xff" + whole[11:]  # a kind of block that does not exist
        contents = {"truncated": whole[:-30], "garbled": garbled, "plain": FASHION[IMAGES]}
        path.write_bytes(contents.get(damage, b""))
    with pytest.raises(ValueError, match=re.escape(IMAGES)) as error:
        load_images("fashion-mnist", directory=folder)
    one_line(error)


def test_a_file_that_unpacks_without_end_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    folder = write(tmp_path / "bomb", {**FASHION, IMAGES: bytes(100_000)})
    refused(checksums({"": bytes(1000)})[""], load_images, "fashion-mnist", directory=folder)


def test_idx_needs_its_magic_number_and_its_length() -> None:
    content = idx(np.arange(6, dtype=np.uint8).reshape(1, 2, 3))
    np.testing.assert_array_equal(module.read_idx(content, ndim=3).ravel(), range(6))
    refused(r"magic 00000801.* got magic 00000803", module.read_idx, content, ndim=1)
    refused(r"expected 22 bytes .* got 21 bytes", module.read_idx, content[:-1], ndim=3)
    refused("got magic nothing", module.read_idx, b"", ndim=3)
    refused("bytes", module.read_idx, content[:9], ndim=3)
    floats = bytes([0, 0, 0x0D, 1]) + content[4:]
    refused("got magic 00000d01", module.read_idx, floats, ndim=1)


def test_unknown_names_list_the_known_ones() -> None:
    refused("fashion-mnist or mnist, got 'cifar'", locate, "cifar")
    refused("'train' or 'test', got 'validation'", load_images, "mnist", "validation")


def test_images_are_checked_once() -> None:
    pixels, labels = np.zeros((2, 3, 3), np.uint8), np.array([0, 1])
    assert len(Images(pixels, labels, "blank", ("a", "b"))) == 2
    refused("labels: expected shape", Images, pixels, labels[:1], "blank", ("a", "b"))
    refused("classes from 0 to 0, got 0 to 1", Images, pixels, labels, "blank", ("a",))
    refused("pixels: expected shape", Images, pixels[0], labels, "blank", ("a", "b"))


def test_digits_are_the_bundled_ones() -> None:
    from sklearn.datasets import load_digits as bundled

    digits = load_digits()
    np.testing.assert_array_equal(digits.pixels.reshape(len(digits), -1), bundled().data)
    np.testing.assert_array_equal(digits.labels, bundled().target)
    assert digits.pixels.max() == digits.white == 16


def test_the_published_checksums_are_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    every = [value for files in module.CHECKSUMS.values() for value in files.values()]
    assert len(set(every)) == 8
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in every)


def test_fashion_mnist_is_what_its_publishers_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """60 000 images of 28 x 28, 6 000 of each class."""
    monkeypatch.undo()
    images = fashion_mnist()
    assert images.pixels.shape == (60_000, 28, 28)
    assert np.bincount(images.labels).tolist() == [6_000] * 10
    # The publishers' class names, seen in the pixels: boots fill more of the image than sandals.
    brightness = [images.pixels[images.labels == c].mean() for c in range(10)]
    assert brightness[9] > brightness[5]
