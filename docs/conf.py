"""How the documentation is built: ``make docs``."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import is_dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
# Kernels of pages import the scripts that make their tables.
PATHS = (str(HERE / "experiments"), os.environ.get("PYTHONPATH"))
os.environ["PYTHONPATH"] = os.pathsep.join(path for path in PATHS if path)

from peerbayes._version import __version__  # noqa: E402

project = "peerbayes"
author = "The peerbayes developers"
copyright = author
release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "sphinx.ext.mathjax",
    "outputs",
    "key_tables",
    "settings_tables",
    "benchmark_tables",
    "figure_sections",
]
exclude_patterns = [
    "_build",
    "benchmarks",
    "experiments",
]

# Pages ----------------------------------------------------------------------------------------
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
outputs_pages = [
    *("index", "quickstart", "concepts", "tutorials/*", "how-to/*", "reference/*"),
]

# Python ---------------------------------------------------------------------------------------
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}
autodoc_type_aliases = {name: name for name in ("ArrayLike", "FloatArray", "IntArray", "BoolArray")}
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
add_module_names = False
python_maximum_signature_line_length = 80

# Formulas: one file of MathJax, shipped with the pages, so that they need no network --------------
mathjax = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static/mathjax/tex-svg-full.js"
mathjax_path = mathjax.name

# Looks ----------------------------------------------------------------------------------------
html_theme = "furo"
html_title = "peerbayes"
html_static_path = ["_static", str(mathjax)]
html_css_files = ["peerbayes.css"]
html_show_sphinx = False
html_show_sourcelink = False
pygments_style = "tango"
pygments_dark_style = "monokai"


# Docstrings write |z| for the absolute value, which reStructuredText would take for a substitution.
LITERAL = re.compile(r"(``.*?``)")


def keep_bars(*arguments: Any) -> None:
    """Escape the bars of a docstring's prose, in place."""
    lines: list[str] = arguments[-1]
    for index, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = LITERAL.split(line)
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[index] = "".join(parts)


ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")


def shorten(*arguments: Any) -> tuple[str | None, str | None] | None:
    """Shorten signatures: aliases by name, and results without one, since nobody calls them.

    A result is a data class whose docstring lists its attributes and no parameters.
    """
    _, what, _, described, _, signature, returned = arguments
    text = described.__doc__ or ""
    is_result = "Attributes\n" in text and "Parameters\n" not in text
    if what == "class" and is_dataclass(described) and is_result:
        return "", None
    if signature is None:
        return None
    return ALIAS.sub(r"\1", signature), returned and ALIAS.sub(r"\1", returned)


NAVIGATION: dict[int, str] = {}


def share_navigation(*arguments: Any) -> None:
    """Let pages of source code of one depth share their navigation; it takes most of their time.

    They are in no table of contents, so that it differs in nothing but how far up links go.
    """
    _, page, _, context, _ = arguments
    if page.startswith("_modules/"):
        depth, make = page.count("/"), context["toctree"]

        def shared(**how: Any) -> str:  # the theme asks for one kind only
            if depth not in NAVIGATION:
                NAVIGATION[depth] = make(**how)
            return NAVIGATION[depth]

        context["toctree"] = shared


def load_once(app: Any, env: Any, docnames: list[str]) -> None:
    """Load what the documented modules import, before processes that read pages part ways."""
    del env
    if app.parallel > 1 and any(name.startswith("reference/api/") for name in docnames):
        import empirical.train.run  # noqa: F401 - torch


def setup(app: Any) -> None:
    """Connect what is defined here."""
    app.connect("env-before-read-docs", load_once)
    app.connect("autodoc-process-docstring", keep_bars)
    app.connect("autodoc-process-signature", shorten)
    app.connect("html-page-context", share_navigation, priority=400)  # before the theme's
