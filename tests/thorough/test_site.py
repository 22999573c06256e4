"""The documentation builds without a warning, every reference in it leads somewhere, and its pages
need no network.

Examples are not executed here: other tests do that (tests/pages.py).
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from peerbayes._version import __version__

ROOT = Path(__file__).parents[2]
LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["'](?:https?:)?//"""
    r"""|<link\b[^>]*\brel=["']stylesheet["'][^>]*\bhref=["'](?:https?:)?//"""
)


def build(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Build the pages of `folder/docs` into `folder/html`, as `make docs` does."""
    pytest.importorskip("sphinx")
    return subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", *options),
            *(str(folder / "docs"), str(folder / "html")),
        ],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"},
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a copy of the pages; the build writes next to its sources."""
    folder = tmp_path_factory.mktemp("site")
    ignored = shutil.ignore_patterns("_build", "__pycache__")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=ignored)
    done = build(folder, "-D", "nb_execution_mode=off", "-D", "outputs_run=0")
    assert done.returncode == 0, done.stderr
    return folder / "html"


NOTEBOOK = """\
---
file_format: mystnb
kernelspec:
  name: python3
---

# Page

```{code-cell} python
"""
FIGURE = "from matplotlib.pyplot import plot\n%matplotlib inline\nplot([1]);\n```\n"


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("# Page\n\n![A dot.](_static/dot.png)\n\n[Up](#page), [](index.md)\n", ""),
        ("# Page\n\n```python\nassert 1 == 2\n```\n", "AssertionError"),
        ("# Page\n\n```console\n$ peerbayes analyse nothing.toml\n```\n", "exited with 2"),
        (f"{NOTEBOOK}1 / 0\n```\n", "ExecutionError"),
        ("# Page\n\n[There](no-page.md)\n", "no-page.md"),
        ("# Page\n\n[There](#no-heading)\n", "no-heading"),
        ("# Page\n\n![](_static/dot.png)\n", "a picture without a description"),
        ("# Page\n\n```{image} _static/dot.png\n```\n", "a picture without a description"),
        (f"{NOTEBOOK}{FIGURE}", "a picture without a description"),
    ],
    ids=["good", "code", "command", "cell", "page", "heading", "picture", "image", "figure"],
)
def test_the_build_refuses_a_page(tmp_path: Path, page: str, said: str) -> None:
    docs = tmp_path / "docs"
    shutil.copytree(ROOT / "docs", docs, ignore=shutil.ignore_patterns("*.md", "*.json", "*.gz"))
    (docs / "index.md").write_text(page, encoding="utf-8")
    shutil.copy(docs / "_static/explore-run.png", docs / "_static/dot.png")
    done = build(tmp_path)
    assert (done.returncode != 0) == bool(said)
    assert said in done.stderr


def test_every_page_is_built(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for path in ROOT.glob("docs/**/*.md")}
    pages = {page for page in pages if page.parts[0] != "_build"}
    assert pages
    for page in pages:
        assert (site / page.with_suffix(".html")).is_file()


CUT = """() => [...document.querySelectorAll('article *')].filter(part => {
    const wide = document.documentElement.clientWidth;
    for (let box = part; box !== document.body; box = box.parentElement)
        if (['auto', 'scroll'].includes(getComputedStyle(box).overflowX)) return false;
    return part.getBoundingClientRect().right > wide + 1;
}).map(part => part.outerHTML.slice(0, 80))"""
SIDEBAR = "() => [...document.querySelectorAll('.sidebar-tree ul')].map(l => l.children.length)"
FOUND = "links => links.map(link => link.getAttribute('href').split(/[?#]/)[0])"


@pytest.fixture(scope="module")
def window(site: Path) -> Iterator[Any]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright here")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser.new_page()
        browser.close()


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("certified", "mathematics/certified.html"),
        ("learning rate", "concepts.html"),
        ("GraphML", "how-to/problem-file.html"),
        ("missing values", "reference/net-files.html"),
    ],
)
def test_the_search_finds(site: Path, window: Any, words: str, page: str) -> None:
    window.goto(f"file://{site}/search.html?q={words.replace(' ', '+')}")
    window.wait_for_selector("ul.search li")
    window.wait_for_timeout(1000)
    found = window.eval_on_selector_all("ul.search > li > a", FOUND)
    assert page in list(dict.fromkeys(found))[:5]


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_cut_off_and_the_sidebar_is_short(site: Path, window: Any, width: int) -> None:
    window.set_viewport_size({"width": width, "height": 900})
    for page in (
        *("index", "how-to/nets", "tutorials/star", "mathematics/formulas", "mathematics/index"),
        *("reference/problem-files", "reference/net-experiments", "reference/api/index"),
    ):
        window.goto(f"file://{site}/{page}.html")
        window.wait_for_timeout(1000)  # formulas
        assert window.evaluate(CUT) == [], page
        assert 5 < max(window.evaluate(SIDEBAR)) <= 12, page


def test_pages_of_the_interface_are_short_enough_to_read(site: Path) -> None:
    pages = sorted((site / "reference/api").rglob("*.html"))
    assert len(pages) > 20
    sizes = {page.name: page.stat().st_size for page in pages}
    assert {name: size for name, size in sizes.items() if size > 200_000} == {}
    text = (site / "reference/api/theory/models.html").read_text("utf-8")
    assert "ArrayLike" in text
    assert not any(word in text for word in ("_NestedSequence", "TypeAliasForwardRef"))


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    loading = [path.name for path in site.rglob("*.html") if LOADED.search(path.read_text("utf-8"))]
    assert loading == []
    assert (site / "_static/tex-svg-full.js").is_file()


def test_the_pattern_sees_what_is_loaded_from_elsewhere() -> None:
    assert LOADED.search('<script defer src="https://example.org/a.js"></script>')
    assert LOADED.search('<link rel="stylesheet" href="//example.org/a.css">')
    assert not LOADED.search('<a href="https://example.org">text</a><img src="a.png">')


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_papers_are_introduced_before_they_are_called_by_their_letters(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for letter, number in (("P1", "1901.11173"), ("P2", "1905.10466")):
        first = next(re.finditer(rf"\b{letter}\b", text)).start()
        assert number in text[first : first + 600]
        assert "called **P1** and **P2**" in text[first - 100 : first + 30]


def test_the_figure_of_the_readme_is_small_enough_to_be_shown_with_it() -> None:
    (figure,) = re.findall(r"\]\((docs/_static/[^)]+)", (ROOT / "README.md").read_text("utf-8"))
    assert 5_000 < (ROOT / figure).stat().st_size < 60_000
    assert f"{{image}} {figure.removeprefix('docs/')}" in (ROOT / "docs/index.md").read_text(
        "utf-8"
    )


def test_the_figure_of_the_readme_can_be_drawn(tmp_path: Path) -> None:
    draw = runpy.run_path(str(ROOT / "docs/figure.py"))["draw"]
    draw(tmp_path / "overview.svg", replicates=200)
    drawn, committed = (
        set(re.findall(r">([^<>]*[a-z]{4}[^<>]*)</text>", path.read_text("utf-8")))
        for path in (tmp_path / "overview.svg", ROOT / "docs/_static/overview.svg")
    )
    assert drawn == committed  # titles, labels, legend
    assert any("predicted" in label for label in drawn)


def test_the_citation_names_the_version_and_the_licence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {__version__}\n" in citation
    assert f"\nlicense: {project['license']}\n" in citation


def test_the_readme_links_to_pages_that_exist() -> None:
    links = re.findall(r"\]\(([\w/.-]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    links = [link for link in links if not link.startswith("http")]
    assert "CITATION.cff" in links
    assert [link for link in links if not (ROOT / link).is_file()] == []
