"""Records of many parts in one file: what is whole is read whatever happens to the rest."""

import gzip
import json
import threading
from pathlib import Path

import pytest

from peerbayes.cli import main
from peerbayes.experiments import short_records
from peerbayes.experiments.short_records import put_record, read_lines, read_row
from peerbayes.records import write_record

NAMES = ("a seed 0", "b seed 0", "c é seed 1")


def body_of(name: str, *, value: float = 0.1) -> dict[str, object]:
    content = {"accuracy": [value, 1 / 3], "note": name * 3, "width": None}
    return {"experiment": "row", "part": name, "settings": "0" * 64, "content": content}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "row.jsonl.gz"
    for name in reversed(NAMES):
        put_record(path, kind="short-part", body=body_of(name))
    return path


def text_of(path: Path) -> list[bytes]:
    return gzip.decompress(path.read_bytes()).splitlines(keepends=True)


def rewrite(path: Path, *lines: bytes) -> None:
    path.write_bytes(gzip.compress(b"".join(lines)))


def test_records_come_back_as_they_were_written_in_one_order(path: Path, tmp_path: Path) -> None:
    lines = read_lines(path)
    assert list(lines.records) == sorted(NAMES)
    assert [one.body for one in lines.records.values()] == [body_of(name) for name in sorted(NAMES)]
    assert not lines.damage
    lines.check()
    # The same records make the same bytes, in whatever order they came, and again.
    other = tmp_path / "other.jsonl.gz"
    for name in (*NAMES, NAMES[0]):
        put_record(other, kind="short-part", body=body_of(name))
    assert other.read_bytes() == path.read_bytes()
    # Any reader of JSON reads the lines, keys in order.
    for line in text_of(path):
        assert line.decode("utf-8") == json.dumps(
            json.loads(line), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        ) + "\n"  # fmt: skip
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".")]


def test_a_record_takes_the_place_of_one_of_its_name(path: Path) -> None:
    put_record(path, kind="short-part", body=body_of(NAMES[1], value=0.7))
    bodies = {name: one.body for name, one in read_lines(path).records.items()}
    assert bodies == {name: body_of(name, value=0.7 if name == NAMES[1] else 0.1) for name in NAMES}


def test_without_a_file_there_are_no_records(tmp_path: Path) -> None:
    lines = read_lines(tmp_path / "none.jsonl.gz")
    assert not lines.records
    assert not lines.damage


def test_a_file_is_read_once_until_it_changes(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = read_lines(path)
    with monkeypatch.context() as patch:
        patch.setattr(short_records, "read_regular", None)
        assert read_lines(path) is first
    put_record(path, kind="short-part", body=body_of("d seed 0"))
    assert len(read_lines(path).records) == 4


BROKEN = "got a damaged or truncated file, or no JSON"


def edited(line: bytes) -> bytes:
    return line.replace(b"0.1", b"0.2", 1)


def of_version(line: bytes, version: int) -> bytes:
    return line.replace(b'"version":1', b'"version":%d' % version)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (edited, "expected content that fits its checksum"),
        (lambda line: of_version(line, 2), "expected version 1 or older, got 2; upgrade peerbayes"),
        (lambda line: of_version(line, 0), "expected version 1, got 0"),
        (lambda line: line[: len(line) // 2] + b"\n", BROKEN),
        (lambda line: b"[1]\n", "got another JSON file"),
        (lambda line: b"\xff\xfe\n", BROKEN),
    ],
    ids=["edited", "newer", "older", "cut", "other", "bytes"],
)  # fmt: skip
def test_a_damaged_line_costs_that_line_alone(path: Path, change, words: str) -> None:
    first, second, third = text_of(path)
    rewrite(path, first, change(second), third)
    lines = read_lines(path)
    assert list(lines.records) == [NAMES[0], NAMES[2]]
    assert lines.records[NAMES[2]].body == body_of(NAMES[2])
    (said,) = lines.damage
    assert said.startswith(f"{path}, line 2: ")
    assert words in said
    assert "\n" not in said
    with pytest.raises(ValueError, match="line 2"):
        lines.check()


def test_two_records_of_one_part_leave_neither(path: Path) -> None:
    first, second, third = text_of(path)
    again = json.loads(second)
    rewrite(path, first, second, third, json.dumps(again).encode() + b"\n")
    lines = read_lines(path)
    assert list(lines.records) == [NAMES[0], NAMES[2]]
    assert lines.damage == (
        f"{path}, lines 2, 4: expected one record of a part, got 2 of 'b seed 0'; "
        "delete all but one",
    )


def test_a_line_that_names_no_part_is_said(path: Path) -> None:
    record = write_record(path.with_name("one.json"), kind="short-part", body=[1], indent=0)
    rewrite(path, record.read_bytes(), *text_of(path))
    lines = read_lines(path)
    assert set(lines.records) == set(NAMES)
    assert "line 1: expected a body that names its part" in lines.damage[0]


def test_of_a_truncated_file_the_whole_lines_are_read(path: Path) -> None:
    """Wherever it is cut: never an error, never a wrong number, always a sentence."""
    for number in range(40):
        put_record(path, kind="short-part", body=body_of(f"n seed {number}"))
    whole = path.read_bytes()
    records = {name: one.body for name, one in read_lines(path).records.items()}
    counts = []
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        lines = read_lines(path)
        counts.append(len(lines.records))
        assert all(records[name] == one.body for name, one in lines.records.items())
        assert f"line {counts[-1] + 1}: " in lines.damage[-1]
        assert "restore the file" in lines.damage[-1]
    assert counts == sorted(counts)
    assert counts[-1] > 30


def test_changed_bytes_are_always_told(path: Path) -> None:
    whole = path.read_bytes()
    for index in range(10, len(whole), 11):  # behind the head, which has a time and a system
        path.write_bytes(whole[:index] + bytes([whole[index] ^ 0x41]) + whole[index + 1 :])
        lines = read_lines(path)
        assert lines.damage
        for name, record in lines.records.items():
            assert record.body == body_of(name)
    path.write_bytes(whole + b"more")
    assert "got bytes behind its end" in read_lines(path).damage[0]
    assert len(read_lines(path).records) == 3
    path.write_bytes(b"plain text")
    assert "got damaged bytes" in read_lines(path).damage[0]


def test_nothing_is_written_into_a_damaged_file(path: Path) -> None:
    first, second, third = text_of(path)
    rewrite(path, first, edited(second), third)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"row\.jsonl\.gz, line 2: .*restore the file, or delete"):
        put_record(path, kind="short-part", body=body_of("d seed 0"))
    assert path.read_bytes() == before


def test_what_cannot_be_opened_or_written_is_one_line(path: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl.gz").mkdir()
    with pytest.raises(ValueError, match="expected a file that can be read, got a directory"):
        read_lines(tmp_path / "folder.jsonl.gz")
    with pytest.raises(ValueError, match="expected a file that can be written"):
        put_record(path / "in-a-file.jsonl.gz", kind="short-part", body=body_of("a"))


def test_several_that_add_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "row.jsonl.gz"

    def add(number: int) -> None:
        put_record(path, kind="short-part", body=body_of(f"n seed {number}"))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_lines(path).records) == 12


def test_a_row_of_an_earlier_version_is_read_too(path: Path, tmp_path: Path) -> None:
    """It had a folder a row and a file a part; what has been written since counts first."""
    for name, value in (("old seed 0", 0.5), (NAMES[0], 0.9)):
        file = tmp_path / "row" / f"{name}.json"
        write_record(file, kind="short-part", body=body_of(name, value=value), indent=0)
    found = read_row(tmp_path, "row")
    assert set(found.parts) == {*NAMES, "old seed 0"}
    assert found.parts["old seed 0"].content == body_of("old seed 0", value=0.5)["content"]
    assert found.parts[NAMES[0]].content == body_of(NAMES[0])["content"]
    put_record(path, kind="other", body=body_of("x"))
    with pytest.raises(ValueError, match="expected short records of parts, got one of 'other'"):
        read_row(tmp_path, "row")


def test_a_report_shows_what_is_whole(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = text_of(path)
    rewrite(path, first, edited(second), third)
    page = path.with_name("report.html")
    assert main(["report", str(path), "--out", str(page.parent)]) == 1
    assert f"{path}, line 2: expected content that fits its checksum" in capsys.readouterr().err
    text = page.read_text(encoding="utf-8")
    assert [name in text for name in NAMES] == [True, False, True]
    rewrite(path, edited(second))
    assert main(["report", str(path), "--out", str(page.parent)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
