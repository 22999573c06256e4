"""Names of records on disk: readable, and different for different things."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib import resources

# Bytes. Most file systems take 255; a temporary file's name is a little longer.
_LONGEST = 200


def file_name(*parts: object) -> str:
    r"""A name for a record: readable, and another one for other parts.

    Letters and digits of any script stay, where the file system takes them; everything else
    becomes a hyphen. Where that loses something, the name ends with the beginning of a checksum of
    what was lost, unless the part is a name of this program's own, which are all different.

    >>> file_name("simulate", "p2-star a=0.5", "seed", 1)
    'simulate-p2-star-a-0.5-seed-1.json'
    >>> file_name("simulate", "my coins"), file_name("simulate", "my=coins")
    ('simulate-my-coins-8cdc43f4.json', 'simulate-my-coins-79862a85.json')
    """
    words = "-".join(map(_as_word, map(str, parts)))
    if len(os.fsencode(words)) > _LONGEST:
        cut = os.fsencode(words)[: _LONGEST - 9].decode(errors="ignore").rstrip("-.")
        words = f"{cut}-{_mark(words)}"
    return words + ".json"


def _as_word(part: str) -> str:
    """A part of a name, one-to-one but for checksums that agree by chance."""
    kept = unicodedata.normalize("NFC", part)
    kept = "".join(c if c in "._" or unicodedata.category(c)[0] in "LMN" else "-" for c in kept)
    if sys.getfilesystemencoding() != "utf-8":
        kept = re.sub(r"[^ -~]", "-", kept)
    kept = re.sub("-+", "-", kept).strip("-.")
    own = _own_words()
    seedless = re.sub(" seed [0-9]+$", " seed 0", part)
    if seedless in own:
        return kept
    looks_own = re.sub("-seed-[0-9]+$", "-seed-0", kept) in own.values()
    looks_marked = re.search("-[0-9a-f]{8}$", kept)
    if kept and kept == part and not looks_own and not looks_marked:
        return kept
    return f"{kept}-{_mark(part)}".lstrip("-")


@cache
def _own_words() -> Mapping[str, str]:
    """The program's own names that are no words as they are: of problems, experiments and parts.

    Each with the word that it becomes; no two become the same. They are listed in a file, so that
    names on disk do not depend on what has been imported.
    """
    names = resources.files(__package__).joinpath("record_names.txt").read_text(encoding="utf-8")
    words = {name: re.sub("[ =]", "-", name) for name in names.splitlines()}
    return {name: word for name, word in words.items() if name != word}


def _mark(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
