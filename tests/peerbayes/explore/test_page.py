"""The page's files: what is vendored is what it says, nothing is inline, no text becomes markup."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

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


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node here")
def test_a_link_is_inflated_no_further_than_it_is_read() -> None:
    """Browsers inflate each piece that they are given whole: by up to 1032, as this stand-in."""
    program = f"""
        import {{ readLink }} from "{(PAGE / "js" / "share.js").as_uri()}";
        let given = 0;
        globalThis.DecompressionStream = class extends TransformStream {{
          constructor() {{
            super({{ transform(piece, to) {{
              given += piece.length;
              to.enqueue(new Uint8Array(1032 * piece.length));
            }} }});
          }}
        }};
        const said = await readLink("#problem=" + "A".repeat(518_000)).catch((error) => error.message);
        console.log(given * 1032 < 8e6, said);
    """  # noqa: E501
    done = subprocess.run(
        ["node", "--input-type=module", "-e", program], capture_output=True, text=True, timeout=120
    )
    assert done.stderr == ""
    assert done.stdout.startswith("true This link holds a problem of more than four million")
