"""What people see of a watched network: tables, the terminal, the page of its record."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest

from peerbayes.layout import render
from peerbayes.live.watch.quantities import document_of, watch_parts
from peerbayes.live.watch.watcher import Watched
from peerbayes.live.watch.watching import on_terminal
from peerbayes.records import write_record
from peerbayes.report import write_report
from tests.peerbayes.live.watch.network import NETWORK, drawn, fed, own_paces, steady


@pytest.fixture(scope="module")
def document() -> Any:
    network = own_paces(drawn(2))
    network.absent = ((1, 30.0, 40.0),)
    return document_of(fed(network, 60).sight(at_end=True), with_course=True)


def test_tables_say_what_the_document_says(document: Any) -> None:
    text = render(watch_parts(document), stream=io.StringIO())
    binding = document.told.binding
    for number in (binding.predicted, binding.measured, binding.standard_error):
        assert f"{number:.4g}" in text
    for agent in document.agents:
        assert f"{agent.influence:.4g}" in text
    assert "a1" in text
    assert "anew 1x" in text
    assert text.count("of 3") == len(document.stretches) == 3


def test_who_is_not_heard_is_said(document: Any) -> None:
    network = own_paces(drawn(2))
    network.absent = ((2, 0.0, 1e9),)
    alone = document_of(fed(network, 20).sight(at_end=True))
    assert [note for note in alone.notes if "nothing heard of a2: " in note]
    assert not [note for note in document.notes if "nothing heard" in note]


def test_tables_of_a_network_that_has_told_nothing_yet() -> None:
    from peerbayes.live.watch.watcher import Watcher

    document = document_of(Watcher(Watched.by_digest(NETWORK)).sight())
    assert "none yet" in render(watch_parts(document), stream=io.StringIO())


def test_names_from_the_network_do_not_act_in_the_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    from peerbayes.live.watch.watcher import Watcher

    watcher = Watcher(Watched.by_digest(NETWORK))
    watcher.alive("a\x1b[2Jb", True)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with on_terminal(stream) as show:
        assert show is not None
        show(document_of(watcher.sight()))
    assert r"a\x1b[2Jb" in stream.getvalue()
    assert "a\x1b[2J" not in stream.getvalue()
    with on_terminal(stream, quiet=True) as show:
        assert show is None


def test_the_page_has_prediction_beside_measurement(document: Any, tmp_path: Path) -> None:
    path = write_record(tmp_path / "watch.json", kind="watch", body=document)
    page = write_report([path], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "watched as it ran" in page
    binding = document.told.binding
    assert f"{binding.predicted:.5g}" in page
    assert f"{binding.measured:.5g}" in page
    assert page.count("<figure") == 2
    rows = re.findall(r'<td class="verdict words (\w+)">(.) (\w+)', page)
    # Two rates of the longest stretch, and the one that decides in each of the two others.
    assert rows == [("good", "✓", "holds")] * 4
    assert "a0 hears a1" in page


def test_evidence_that_contradicts_the_file_is_told(tmp_path: Path) -> None:
    document = document_of(fed(own_paces(lambda i: -steady(i)), 40).sight(at_end=True))
    against = document.told.contradicted
    assert against is not None
    assert against.measured == min(rate.measured for rate in document.told.rates) < 0
    (note,) = [note for note in document.notes if "contradicts" in note]
    assert note.startswith(
        f"beliefs in {against.hypothesis!r} rose by {-against.measured:.4g} nats"
    )
    path = write_record(tmp_path / "watch.json", kind="watch", body=document)
    page = write_report([path], tmp_path / "page.html").read_text(encoding="utf-8")
    finding = re.search(rf"Beliefs in “{against.hypothesis}” rose by [^.]*[^<]*", page)
    assert finding is not None
    assert "the evidence contradicts the truth that the file states" in finding.group()
    assert "fell by" not in page
    # As it should be: they fell.
    assert document_of(fed(own_paces(steady), 40).sight()).told.contradicted is None


def test_the_page_says_where_measurement_and_prediction_differ(tmp_path: Path) -> None:
    network = own_paces(lambda i: 2 * steady(i))  # twice the evidence that the problem speaks of
    document = document_of(fed(network, 40).sight(at_end=True))
    path = write_record(tmp_path / "watch.json", kind="watch", body=document)
    page = write_report([path], tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("△ differs") == 2
