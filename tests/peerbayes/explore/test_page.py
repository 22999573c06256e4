"""The page's files: what is vendored is what it says, nothing is inline, no text becomes markup."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import peerbayes

PAGE = Path(peerbayes.__file__).parent / "explorer" / "page"
OWN = sorted(path for path in PAGE.rglob("*") if path.suffix in (".js", ".html", ".css"))


def test_the_vendored_library_is_the_published_one() -> None:
    vendor = PAGE / "vendor"
    sums = list(vendor.glob("*.sha256"))
    assert [path.name for path in sums] == ["cytoscape.esm.min.mjs.sha256"]
    digest, name = sums[0].read_text("utf-8").split()
    assert hashlib.sha256((vendor / name).read_bytes()).hexdigest() == digest
    assert "Permission is hereby granted, free of charge" in (
        vendor / "cytoscape.LICENSE"
    ).read_text("utf-8")


def test_no_text_becomes_markup_or_code() -> None:
    scripts = [path for path in OWN if path.suffix == ".js"]
    assert len(scripts) > 20
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setHTML"
        r"|DOMParser|createContextualFragment|\.cssText|srcdoc"
    )
    found = {path.name: forbidden.findall(path.read_text("utf-8")) for path in scripts}
    assert {name: words for name, words in found.items() if words} == {}


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    page = (PAGE / "index.html").read_text("utf-8")
    assert re.findall(r"<script(?![^>]*\ssrc=)", page) == []
    assert re.findall(r"<style|\sstyle=|\son\w+=", page) == []
    for path in OWN:
        text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert re.findall(r"https?://(?!127|localhost)[\w.]+", text) == [], path.name


def test_every_import_leads_to_a_file() -> None:
    for path in OWN:
        for target in re.findall(
            r"""(?:from|import\(|href=|src=)\s*["']([./][^"']+)["']""", path.read_text("utf-8")
        ):
            found = (
                PAGE / target.removeprefix("/page/")
                if target.startswith("/")
                else path.parent / target
            )
            assert found.exists(), f"{path.name}: {target}"


def test_only_one_module_talks_to_the_server() -> None:
    asking = [
        path.name
        for path in OWN
        if re.search(r"\bfetch\(|XMLHttpRequest|EventSource|WebSocket", path.read_text("utf-8"))
    ]
    assert asking == ["source.js"]
