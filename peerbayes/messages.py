"""Errors in a problem file, each as one line: file, place, expected, got, remedy.

`problem_error` makes the errors that the sections of a problem file raise; `translate` turns a
pydantic ``ValidationError`` (of theirs and of pydantic's own) into the project's one-line message.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from theory.validation import fail

Place = tuple[str | int, ...]

# Union members are tagged with this prefix in the section classes; tags are no part of a place.
TAG = "form:"
# Letters of a file's name in a message.
_LONGEST = 300


def problem_error(
    place: Sequence[str | int], expected: str, got: object, remedy: str
) -> PydanticCustomError:
    """An error at `place`, counted from the table that is being checked; the caller raises it."""
    # Names and values come from the file, and are of any length; what is cut off is theirs.
    context = {
        "place": list(place),
        "expected": shorten(expected, length=160),
        "got": shorten(str(got), length=120),
        "remedy": shorten(remedy, length=120),
    }
    return PydanticCustomError("peerbayes", "{expected}", context)


def nearest(word: str, words: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The one of `words` that `word` was probably meant to be, if any is alike by `cutoff` of 1.

    >>> nearest("likelihod", ["truth", "likelihood"])
    'likelihood'
    """
    known = {entry.lower(): entry for entry in words}
    matches = difflib.get_close_matches(word.lower(), known, n=1, cutoff=cutoff)
    if matches:
        return known[matches[0]]
    inside = [entry for entry in known if word and (word.lower() in entry or entry in word.lower())]
    return known[inside[0]] if len(inside) == 1 else None


def guessed(word: str, words: Iterable[str], *, otherwise: str) -> str:
    """A remedy for a word that is none of `words`: the one that was probably meant, or `otherwise`.

    >>> guessed("rign", ["ring", "star"], otherwise="choose one of them")
    "did you mean 'ring'?"
    """
    guess = nearest(word, words)
    return f"did you mean {guess!r}?" if guess else otherwise


def choose(
    argument: str,
    value: object,
    choices: Iterable[str],
    *,
    wanted: str = "",
    otherwise: str = "choose one",
) -> str:
    """The value, if it is one of the `choices`.

    Raises
    ------
    ValueError
        If it is not: the line says what is `wanted`, or names all choices, and then the one that
        was probably meant, or `otherwise`.

    Examples
    --------
    >>> choose("--recipe", "papr", ["paper", "best"])
    Traceback (most recent call last):
    ValueError: --recipe: expected one of paper, best, got 'papr'; did you mean 'paper'?
    """
    known = tuple(choices)
    if isinstance(value, str) and value in known:
        return value
    remedy = guessed(value, known, otherwise=otherwise) if isinstance(value, str) else otherwise
    raise fail(argument, wanted or f"one of {', '.join(known)}", describe(value), remedy)


def shorten(text: str, *, length: int = 60) -> str:
    """The text on one line, or its beginning with an ellipsis.

    >>> shorten("confuses 4 and 9", length=12)
    'confuses 4…'
    """
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def describe(value: object) -> str:
    """A value of the wrong kind, named in a few words."""
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, bool):
        return "true" if value else "false"
    return shorten(repr(value))


def path_text(place: Sequence[str | int]) -> str:
    """A place in a document, as one writes it.

    >>> path_text(("model", "agents", 1, "likelihood", 0, 2))
    'model.agents[1].likelihood[0][2]'
    """
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            step = shorten(step)
            key = step if step.replace("_", "").replace("-", "").isalnum() else json.dumps(step)
            text += f".{key}" if text else key
    return text


def input_error(
    source: str, place: Sequence[str | int], expected: str, got: object, remedy: str
) -> ValueError:
    """A ``ValueError`` of one line: source, place, expected, got, remedy; the caller raises it."""
    source = source if len(source) <= _LONGEST else source[: _LONGEST - 1] + "…"
    where = ": ".join(part for part in (source, path_text(place)) if part)
    return fail(where or "problem", expected, got, remedy)


def check_counts(name: str, table: str, *, network: int, described: int) -> None:
    """Whether a table describes as many agents as the network has.

    Raises
    ------
    ValueError
        If not.
    """
    if network != described:
        raise input_error(
            name,
            (table, "agents"),
            f"{network} agents, as the network has",
            f"counts that add up to {described}",
            "change the counts, or the network",
        )


def translate(
    error: ValidationError, *, source: str, sections: Mapping[str, type[BaseModel]]
) -> ValueError:
    """The first and most telling of a validation's errors, as a ``ValueError`` of one line.

    `sections` gives, by tag or by path without indices (``"model"``, ``"form:weights"``), the
    class of each section, whose keys are the suggestions for an unknown key.
    """
    details = sorted(error.errors(include_url=False), key=_urgency)
    first = details[0]
    place = _place(first)
    if first["type"] == "extra_forbidden":
        expected, got, remedy = _unknown_key(first, sections, details)
    else:
        expected, got, remedy = _wording(first, place)
    return input_error(source, place, expected, got, remedy)


def _urgency(detail: ErrorDetails) -> int:
    """Unknown keys first: a mistyped key is also a missing one, and the former says more."""
    return {"extra_forbidden": 0, "missing": 1}.get(detail["type"], 2)


def _place(detail: ErrorDetails) -> Place:
    steps = [s for s in detail["loc"] if not (isinstance(s, str) and s.startswith(TAG))]
    if detail["type"] == "peerbayes":
        steps += detail.get("ctx", {})["place"]
    return tuple(steps)


def _unknown_key(
    detail: ErrorDetails, sections: Mapping[str, type[BaseModel]], details: Sequence[ErrorDetails]
) -> tuple[str, str, str]:
    *table, key = detail["loc"]
    names = [step for step in table if isinstance(step, str)]
    owner = sections[names[-1] if names else ""]
    keys = list(owner.model_fields)
    missing = [str(d["loc"][-1]) for d in details if d["type"] == "missing"]
    # What is spelled as a key of another table is hardly a slip for one that is little like it.
    cutoff = 0.8 if any(key in section.model_fields for section in sections.values()) else 0.6
    guess = nearest(str(key), missing) or nearest(str(key), keys, cutoff=cutoff)
    remedy = f"did you mean {guess!r}?" if guess else "remove it or correct its spelling"
    return f"one of the keys {', '.join(keys)}", describe(str(key)), remedy


def _wording(detail: ErrorDetails, place: Place) -> tuple[str, str, str]:
    """Expected, got and remedy for each kind of error that the sections can meet."""
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    got = describe(value)
    key = place[-1] if place else ""
    match kind:
        case "peerbayes":
            return context["expected"], context["got"], context["remedy"]
        case "missing":
            return f"the key {key!r}", "none", "add it"
        case "model_type" | "model_attributes_type" | "dict_type":
            return "a table", got, f"write it as a table, such as [{path_text(place)}]"
        case "tuple_type" | "list_type":
            return "a list", got, "put it in square brackets"
        case "string_unicode":
            # JSON can write half of a pair of surrogates, which is no character.
            return "text of whole Unicode characters", got, "retype it"
        case "string_type":
            return "text", got, "put it in quotation marks"
        case "string_too_short":
            return "a name", "an empty text", "give it a name"
        case "int_type" | "int_from_float":
            return "a whole number", got, "give a whole number, without quotation marks"
        case "float_type" | "finite_number":
            return "a finite number", got, "give a number, without quotation marks"
        case "bool_type":
            return "true or false", got, "write true or false, without quotation marks"
        case "too_short":
            size = context["min_length"]
            return f"at least {size} of them", str(context["actual_length"]), "add what is missing"
        case "too_long":
            size = context["max_length"]
            return f"at most {size} of them", str(context["actual_length"]), "remove the rest"
        case "greater_than":
            return f"a number above {context['gt']}", got, "make it larger"
        case "greater_than_equal":
            return f"a number of at least {context['ge']}", got, "make it larger"
        case "less_than_equal":
            return f"a number of at most {context['le']}", got, "make it smaller"
        case "literal_error":
            choices = context["expected"].replace("'", "")
            words = choices.replace(" or ", ", ").split(", ") if isinstance(value, str) else []
            return f"one of {choices}", got, guessed(str(value), words, otherwise="choose one")
        case _:
            return detail["msg"], got, "correct it"
