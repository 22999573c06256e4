"""Settings, each declared once: a field of a frozen dataclass, with its domain and a line of help.

A question has one class of settings, such as `peerbayes.settings.Simulate`. Its fields say all that
is to be known of a setting, and everything else is made from them: the keywords of the Python
function and their types (:func:`question`), its docstring, and the options of the command
(`peerbayes.commands.command`). Settings that several questions share are groups: base classes such
as `peerbayes.settings.questions.Output`.

A field is written as

    rounds: Annotated[int, Setting("Rounds n.", Whole(1))] = 1000

A field without a `Setting` is for Python alone.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, ParamSpec, Protocol, TypeVar, cast, overload

from peerbayes.settings.domains import Domain, Flag

P = ParamSpec("P")
A = TypeVar("A", contravariant=True)
R = TypeVar("R", covariant=True)
S = TypeVar("S", bound="Settings", contravariant=True)
M = TypeVar("M", bound="Settings")
_SAME: Any = object()


@dataclass(frozen=True)
class Setting:
    """What is declared of a setting, besides its name, its type and its default.

    Attributes
    ----------
    help
        One line for people.
    domain
        Which values it may take.
    metavar
        What stands for a value in help; that of the domain if empty.
    group
        The heading that its option stands under; none if empty.
    command_default
        What the command takes where the option is left out, if Python takes something else.
    option
        The option's name, if it is not that of the field.
    hidden
        Whether help leaves the option out.
    """

    help: str
    domain: Domain
    metavar: str = ""
    group: str = ""
    command_default: Any = _SAME
    option: str = ""
    hidden: bool = False


@dataclass(frozen=True)
class Declared:
    """A field of a class of settings, and what is declared of it."""

    name: str
    default: Any
    setting: Setting | None

    @property
    def said(self) -> Setting:
        """What is declared of a field that is not for Python alone."""
        assert self.setting is not None
        return self.setting

    @property
    def group(self) -> Any:
        """The class of a group of settings; None of a single one."""
        return self.setting and getattr(self.setting.domain, "group", None)

    @property
    def option(self) -> str:
        """The option on the command line."""
        return f"--{self.said.option or self.name.replace('_', '-')}"

    @property
    def command_default(self) -> Any:
        """What the command takes where the option is left out."""
        given = self.said.command_default
        return self.default if given is _SAME else given


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base of all classes of settings: checked field by field when one is made.

    `old` has keywords of earlier versions that still work: of each the function that makes
    today's keywords of its value. Those that a group has now
    (:class:`~peerbayes.settings.domains.Python`) work too, and are known without. `moved` has
    keywords that are refused, with what to write.
    """

    old: ClassVar[Mapping[str, Callable[[Any], dict[str, Any]]]] = {}
    moved: ClassVar[Mapping[str, str]] = {}

    def flat(self) -> dict[str, Any]:
        """Every setting by name, those of groups among them, as a command has them."""
        found: dict[str, Any] = {}
        for declared in declared_in(cast("Any", type(self))):
            value = getattr(self, declared.name)
            found |= value.flat() if declared.group else {declared.name: value}
        return found

    def __post_init__(self) -> None:
        for declared in declared_in(cast("Any", type(self))):
            value = getattr(self, declared.name)
            if declared.setting is None or value is None or value is declared.default:
                continue
            checked = declared.setting.domain.check(declared.name, value)
            object.__setattr__(self, declared.name, checked)


@cache
def declared_in(settings: Callable[..., Settings]) -> tuple[Declared, ...]:
    """The fields of a class: its own first, then those of its groups, in their order."""
    kind: Any = settings
    known = {field.name: field for field in dataclasses.fields(kind)}
    found: dict[str, Declared] = {}
    for home in kind.__mro__:
        for name in vars(home).get("__annotations__", {}):
            if name in known and name not in found:
                found[name] = _declared(home, known[name])
    return tuple(found.values())


@cache
def flat_in(settings: Callable[..., Settings]) -> tuple[Declared, ...]:
    """The fields of a class, the fields of a group in place of the group: options of a command."""
    fields = declared_in(settings)
    return tuple(one for d in fields for one in (declared_in(d.group) if d.group else (d,)))


def made_flat(settings: Callable[..., M], values: Mapping[str, Any]) -> M:
    """The settings of flat values; what is not among them is as declared."""
    fields = declared_in(cast("Any", settings))
    given = {d.name: values[d.name] for d in fields if d.name in values}
    groups = {d.name: made_flat(d.group, values) for d in fields if d.group}
    return settings(**given, **groups)


def _declared(home: type, field: dataclasses.Field[Any]) -> Declared:
    # Modules of settings do not postpone annotations: what is `Annotated` is there as an object.
    annotation = vars(home)["__annotations__"][field.name]
    if isinstance(annotation, str) and annotation.startswith("Annotated"):
        raise TypeError(f"{home.__module__}: settings need annotations that are not postponed")
    said = getattr(annotation, "__metadata__", ())
    setting = next((one for one in said if isinstance(one, Setting)), None)
    return Declared(field.name, field.default, setting)


class Question(Protocol[A, S, P, R]):
    """A function of a subject and of settings, as keywords or made before."""

    @overload
    def __call__(self, subject: A, settings: S, /, **keywords: Any) -> R: ...
    @overload
    def __call__(self, subject: A = ..., /, *args: P.args, **kwargs: P.kwargs) -> R: ...


def question(
    settings: Callable[P, S],
) -> Callable[[Callable[[A, S], R]], Question[A, S, P, R]]:
    """Make a function of (subject, settings) one of (subject, keywords), as Python users call it.

    Settings that were made before may be given in place of keywords, as second argument; keywords
    beside them replace what they say.

    Parameters
    ----------
    settings
        The class of settings: its fields are the keywords.
    """
    kind: Any = settings

    def made(function: Callable[[A, S], R]) -> Question[A, S, P, R]:
        subjects = list(inspect.signature(function).parameters.values())[:-1]

        @functools.wraps(function)
        def ask(*given: Any, **keywords: Any) -> R:
            values, before = list(given[: len(subjects)]), given[len(subjects) :]
            for subject in subjects[len(values) :]:
                if subject.name not in keywords and subject.default is inspect.Parameter.empty:
                    raise TypeError(f"{function.__name__}() needs an argument: {subject.name}")
                values.append(keywords.pop(subject.name, subject.default))
            if len(before) > 1:
                raise TypeError(
                    f"{function.__name__}() takes {len(subjects) + 1} arguments at most"
                )
            settings = before[0] if before else None
            call: Any = function
            return cast("R", call(*values, _with(kind, settings, keywords)))

        ask.__signature__ = _signature(function, kind)  # type: ignore[attr-defined]
        ask.__doc__ = _document(function, kind)
        return cast("Question[A, S, P, R]", ask)

    return made


def _with(kind: Any, settings: object, keywords: dict[str, Any]) -> Any:
    """The settings of keywords, or those given with what keywords replace."""
    from peerbayes.messages import choose
    from theory.typed import require
    from theory.validation import fail

    if type(settings).__name__.endswith("Model"):
        got, remedy = "a network and a model", "join them: pb.problem_of(network, model)"
        raise fail("problem", "one argument", got, remedy)
    known = [declared.name for declared in declared_in(kind)]
    homes = {
        one.name: declared
        for declared in declared_in(kind)
        if declared.group
        for one in declared_in(declared.group)
    }
    for name in [*keywords]:
        if name in kind.old:
            keywords |= _renamed(kind, name, keywords.pop(name))
        elif name in kind.moved:
            raise fail(name, kind.moved[name], f"{name}=", "move it there")
        elif name in homes and name not in known:
            keywords |= _grouped(homes[name], settings, keywords, name)
        else:
            choose("setting", name, known)
    if settings is None:
        return kind(**keywords)
    require("settings", settings, kind)
    return dataclasses.replace(cast("Any", settings), **keywords)


def _grouped(
    home: Declared, settings: object, keywords: dict[str, Any], name: str
) -> dict[str, Any]:
    """The group that a keyword has moved to, with its value, which is told."""
    made = home.said.domain.wanted.removeprefix("settings ").removesuffix(")")
    _tell(name, f"{home.name}={made}{name}=...)")
    group = keywords.get(home.name) or getattr(settings, home.name, None) or home.group()
    return {home.name: dataclasses.replace(group, **{name: keywords.pop(name)})}


def _renamed(kind: Any, name: str, value: Any) -> dict[str, Any]:
    """Today's keywords in place of an old one, which is told."""
    keywords: dict[str, Any] = kind.old[name](value)
    _tell(name, ", ".join(keywords) or "the settings' own names")
    return keywords


def _tell(name: str, now: str) -> None:
    import warnings

    warnings.warn(
        f"the keyword {name} will go in the next version; give {now}",
        DeprecationWarning,
        stacklevel=5,
    )


def _signature(function: Callable[..., Any], kind: Any) -> inspect.Signature:
    declared = inspect.signature(function)
    keywords = [
        inspect.Parameter(
            d.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if d.default is dataclasses.MISSING else d.default,
        )
        for d in declared_in(kind)
    ]
    subjects = list(declared.parameters.values())[:-1]
    return inspect.Signature([*subjects, *keywords], return_annotation=declared.return_annotation)


def _document(function: Callable[..., Any], kind: Any) -> str:
    """The function's docstring, the keywords among its parameters."""
    text = inspect.getdoc(function) or ""
    lines = []
    for declared in declared_in(kind):
        meant = textwrap.wrap(_meaning(declared), _WIDTH)
        for one in declared_in(declared.group) if declared.group else ():
            said = f"- `{one.name}`: {_meaning(one)}"
            meant += ["", *textwrap.wrap(said, _WIDTH, subsequent_indent="  ")]
        lines += [declared.name, *(f"    {line}".rstrip() for line in meant)]
    keywords = "\n".join(lines)
    before, mark, after = text.partition("\n\nRaises\n------")
    return f"{before}\n{keywords}{mark}{after}" if mark else text


def _meaning(declared: Declared) -> str:
    """What a setting is, and which values it may take."""
    if declared.setting is None:
        return _PYTHON_ALONE.get(declared.name, "")
    wanted = declared.setting.domain.wanted
    if isinstance(declared.setting.domain, Flag) or not wanted:
        return declared.setting.help
    return f"{declared.setting.help} {wanted[0].upper()}{wanted[1:]}."


_WIDTH = 92
_PYTHON_ALONE = {
    "progress": "Called with (done, total).",
    "notice": "Called with a sentence worth knowing, one at a time.",
    "launched_in": "Folder that 'peerbayes launch' was given; left out: the usual one.",
    "show": "Called about twice a second with all that is known.",
}
