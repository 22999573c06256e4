"""Figures of executed pages."""

from __future__ import annotations

import base64
import io

from IPython.display import Markdown
from matplotlib.figure import Figure


def described(figure: Figure, words: str) -> Markdown:
    """A figure as a picture with words for who cannot see it."""
    content = io.BytesIO()
    figure.savefig(content, format="png", bbox_inches="tight")
    picture = base64.b64encode(content.getvalue()).decode()
    return Markdown(f"![{words}](data:image/png;base64,{picture})")
