"""Settings: declared once, as keywords, options and help."""

import dataclasses
import inspect
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import pytest

import peerbayes as pb
from peerbayes import settings
from peerbayes.commands.command import Command, Subject, parsed_by_typer
from peerbayes.commands.table import COMMANDS
from peerbayes.settings.declared import Setting, Settings, declared_in, flat_in, made_flat, question
from peerbayes.settings.domains import Domain, Flag, Python, Several, Whole
from peerbayes.settings.questions import Limits, Output, Resources, Seeded

QUESTIONS = [getattr(settings, name) for name in settings.__all__]
QUESTIONS += [pb.Examples, pb.Method, pb.Job, settings.Limits, settings.Variant, settings.Files]
# Of a class, not counting those of its groups.
MOST_FIELDS = 12


@dataclasses.dataclass(frozen=True, kw_only=True)
class Throw(Seeded, Output):
    """How a coin is thrown."""

    times: Annotated[int, Setting("How often.", Whole(1, "K"))] = 3


def throw(coin: str, how: Throw) -> tuple[str, int, int]:
    """Throw a coin.

    Parameters
    ----------
    coin
        Its name.

    Raises
    ------
    ValueError
        If a number is out of range.
    """
    return coin, how.times, how.seed


def test_a_new_setting_is_written_in_one_place() -> None:
    """The exercise of CONTRIBUTING: the field of `Throw` is all that is written of `times`."""
    asked = question(Throw)(throw)
    assert asked("penny") == ("penny", 3, 0)
    assert asked("penny", times=5, seed=2) == ("penny", 5, 2)
    assert asked("penny", Throw(times=4), seed=1) == ("penny", 4, 1)
    with pytest.raises(ValueError, match=r"^times: expected a whole number of at least 1, got 0;"):
        asked("penny", times=0)
    assert "times\n    How often. A whole number of at least 1.\n" in str(asked.__doc__)
    assert str(asked.__doc__).index("times") < str(asked.__doc__).index("Raises")
    assert inspect.signature(asked).parameters["times"].default == 3
    command = Command(
        "throw",
        "Coins",
        "Throw.",
        "Throw a coin.",
        (Throw,),
        "a:b",
        "",
        Subject("COIN", "Its name."),
    )
    options = {option.name: option for option in parsed_by_typer(command).params}
    assert options["times"].opts == ["--times"]
    assert options["times"].metavar == "K"
    assert options["times"].help == "How often."
    assert options["times"].default == 3


@pytest.mark.parametrize("kind", QUESTIONS, ids=[kind.__name__ for kind in QUESTIONS])
def test_every_setting_says_what_it_is(kind: type[Settings]) -> None:
    assert kind.__doc__
    assert dataclasses.is_dataclass(kind)
    own = [d for d in declared_in(kind) if d.name in vars(kind).get("__annotations__", {})]
    assert len(own) <= MOST_FIELDS
    for declared in declared_in(kind):
        setting = declared.setting
        if setting is None:
            assert declared.name in ("progress", "notice", "changes", "launched_in", "show")
            continue
        assert setting.help[-1] == "."
        assert setting.domain.wanted
        assert setting.domain.metavar or isinstance(setting.domain, Flag | Python)


@pytest.mark.parametrize("command", COMMANDS, ids=[command.name for command in COMMANDS])
def test_defaults_of_options_are_in_their_domains(command: Command) -> None:
    for declared in command.declared.values():
        assert declared.setting is not None
        domain: Domain = declared.setting.domain
        default = declared.command_default
        if default in (None, (), dataclasses.MISSING) or isinstance(domain, Flag | Several):
            continue
        assert domain.check(declared.name, domain.read(str(default))) is not None


@pytest.mark.parametrize(
    ("old", "now"),
    [
        (lambda: pb.simulate("two-coins", workers=1, rounds=5, replicates=2),
         lambda: pb.simulate("two-coins", resources=Resources(workers=1), rounds=5, replicates=2)),
        (lambda: pb.place("p2-grid corner", request=settings.Placement(objective="rate")),
         lambda: pb.place("p2-grid corner", objective="rate")),
    ],
)  # fmt: skip
def test_old_keywords_work_with_a_note(old: Callable[[], Any], now: Callable[[], Any]) -> None:
    with pytest.warns(DeprecationWarning, match="will go in the next version"):
        found = old()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert found.as_json() == now().as_json()


@pytest.mark.parametrize(
    ("name", "kind", "homes"),
    [
        ("train", settings.Train, {"batch": "examples", "codec": "method", "out": "job"}),
        ("design", settings.Design, {"fixed": "limits", "exact": "variant", "out": "files"}),
        ("place", settings.Placement, {"batch": "files", "force": "files"}),
    ],
)
def test_what_a_group_has_works_as_a_keyword_with_a_note(
    name: str, kind: Any, homes: dict[str, str]
) -> None:
    """At most 12 arguments, and each old keyword says where it went."""
    asked = getattr(pb, name)
    assert len(inspect.signature(asked).parameters) <= 12
    groups = {d.name: d.group for d in declared_in(kind) if d.group}
    moved = {one.name: (home, one) for home, k in groups.items() for one in declared_in(k)}
    assert all(moved[old][0] == home for old, home in homes.items())
    # Neither a module, nor a problem: refused, once the keywords have been read.
    given: dict[str, Any] = {"rounds": 1, "local_steps": 1} if name == "train" else {}
    subjects: list[Any] = [None, [], None] if name == "train" else [None]
    home = r"pb" if name == "train" else r"peerbayes\.settings"
    for old, (group, one) in moved.items():
        said = (
            rf"{old} will go in the next version; give {group}={home}\.{group.title()}\({old}=...\)"
        )
        with (
            pytest.warns(DeprecationWarning, match=said),
            pytest.raises(ValueError, match=r"^(net|pro)"),
        ):
            asked(*subjects, **given, **{old: one.default})
        assert f"`{old}`: " in " ".join(str(asked.__doc__).split())


def test_an_old_keyword_goes_into_its_group() -> None:
    made: list[Any] = []
    ask = question(settings.Train)(lambda how: made.append(how))
    with pytest.warns(DeprecationWarning, match="will go in the next version"):
        ask(rounds=2, local_steps=1, batch=7, examples=pb.Examples(draws=3), codec="sign")
    assert made[0].examples == pb.Examples(batch=7, draws=3)
    assert made[0].method == pb.Method(codec="sign")
    said = r"^settings: expected learner=.*, got settings=; move it there"
    with pytest.raises(ValueError, match=said):
        pb.train(None, [], None, rounds=1, local_steps=1, settings={})
    with pytest.raises(
        ValueError, match=r"^method: expected settings pb.Method\(\), got dict; make one"
    ):
        pb.train(None, [], None, rounds=1, local_steps=1, method={"codec": "sign"})


@pytest.mark.parametrize("name", ["launch", "run", "simulate"])
def test_no_question_has_more_than_twelve_arguments(name: str) -> None:
    """And a command has the settings of its groups among its options."""
    assert len(inspect.signature(getattr(pb, name)).parameters) <= 12
    (command,) = [one for one in COMMANDS if one.name == name]
    (kind,) = command.settings
    given = {d.name: d.default for d in flat_in(kind)}
    assert made_flat(kind, given).flat() == {**kind().flat(), **given}
    assert {d.name for d in flat_in(kind) if d.setting} == set(command.declared)
    assert not any(d.group for d in command.declared.values())


def test_annotations_that_are_postponed_are_refused() -> None:
    kind = dataclasses.make_dataclass(
        "Kind", [("times", "Annotated[int, 3]")], bases=(Settings,), frozen=True
    )
    with pytest.raises(TypeError, match="not postponed"):
        declared_in(kind)


def test_limits_are_keywords() -> None:
    limits = Limits(fixed=[0], edge_budget=3, changes={"cost_budget": 2})
    assert limits.given == {"fixed": [0], "edge_budget": 3, "cost_budget": 2}
    found = pb.design("p2-grid", limits=settings.Limits(fixed=[0]), replicates=0)
    again = pb.design("p2-grid", limits=settings.Limits(changes={"fixed": [0]}), replicates=0)
    assert found.as_json() == again.as_json()


def test_a_question_without_its_subject_is_refused() -> None:
    with pytest.raises(TypeError, match=r"analyse\(\) needs an argument: problem"):
        pb.analyse()
    assert pb.analyse(problem="two-coins").as_json() == pb.analyse("two-coins").as_json()
