"""From the table ``[data]`` of a net file to the agents' data: whose a file is, what it holds."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from empirical.dealing import DEALINGS, Balanced, ByLabels, Dirichlet, Rule, Sizes
from empirical.partition import Partition
from empirical.train.data.agents_data import AgentsData
from empirical.train.data.arrays import read_npz
from empirical.train.data.columns import (
    Layout,
    is_image_folder,
    labelled_rows,
    layout_of,
    read_images,
)
from empirical.train.data.examples import Target, generator, split_by_class, split_rows
from empirical.train.data.notation import label_numbers
from empirical.train.data.preparing import LabelColumn, Preparation, prepare, target_of
from empirical.train.data.source_files import (
    LabelledRows,
    is_idx,
    read_builtin,
    read_idx_files,
    relative_to,
)
from empirical.train.data.tables import SUFFIXES, Table, read_table
from peerbayes.nets.sections import DATASETS, DataSection, DealSection
from peerbayes.problem.entries import worded
from theory.validation import IntArray, as_position, fail

# Which file is whose -----------------------------------------------------------------------------

_WILD = re.compile(r"[*?\[]")
# Names that a message lists.
_NAMED = 12

Item = TypeVar("Item")


def natural(name: str) -> list[tuple[int, int | str]]:
    """A key that sorts names with the numbers in them read as numbers.

    >>> sorted(["site-10", "site-9"], key=natural)
    ['site-9', 'site-10']
    """
    return [(0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d+)", name)]


def _shown(names: Sequence[str]) -> str:
    """The first of many names."""
    return ", ".join(names[:_NAMED]) + ", …" * (len(names) > _NAMED)


def _matching(entry: str, folder: Path) -> list[Path]:
    """The paths that a pattern stands for; itself if it is a file, or has no wild cards."""
    # os.path: False too for what cannot be a name.
    if not _WILD.search(entry) or os.path.exists(folder / entry):
        return [folder / entry]
    anchor = Path(entry)
    if anchor.is_absolute():
        folder, entry = Path(anchor.anchor), str(anchor.relative_to(anchor.anchor))
    try:
        found = sorted(folder.glob(entry), key=lambda path: natural(str(path)))
    except (ValueError, NotImplementedError) as error:
        remedy = "write a pattern such as hospital-*.csv"
        raise fail("data.files", "a pattern", f"{entry!r} ({error})", remedy) from None
    found = [path for path in found if not path.name.startswith(".")]
    if not found:
        wanted = f"files that match {entry!r}"
        raise fail("data.files", wanted, f"none in {folder}", "correct the pattern")
    return found


def _names(paths: Sequence[Path]) -> list[str]:
    """What agents are called by their files: the files' names, or those of their folders."""
    for called in ([p.stem if p.suffix else p.name for p in paths], [p.parent.name for p in paths]):
        if len(set(called)) == len(called):
            return called
    stems = [path.stem for path in paths]
    twice = next(k for k, stem in enumerate(stems) if stem in stems[:k])
    raise fail(
        "data.files",
        "files of distinct names, one an agent",
        f"{paths[stems.index(stems[twice])]} and {paths[twice]}",
        'rename one, or name each agent\'s file: files = { mast = "a.csv", … }',
    )


def _starred(pattern: str, paths: Sequence[Path], folder: Path) -> list[str]:
    """What the only star of a pattern stands for in each path; nothing if it has none, or two."""
    if len(_WILD.findall(pattern)) != 1 or "*" not in pattern:
        return []
    whole = re.compile("(.+)".join(re.escape(part) for part in pattern.split("*")))
    texts = [
        path.as_posix() if Path(pattern).is_absolute() else path.relative_to(folder).as_posix()
        for path in paths
    ]
    return [found[1] for text in texts if (found := whole.fullmatch(text))]


# What it holds -----------------------------------------------------------------------------------


def _check_apart(parts: Sequence[LabelledRows], test: LabelledRows) -> None:
    """See that no file is both for training and for the test."""
    trained = {Path(path).resolve() for part in parts for path, _ in part.sources}
    both = next((path for path, _ in test.sources if Path(path).resolve() in trained), None)
    if both is not None:
        got = f"{both}, which is for training too"
        raise fail("data.test", "files that nobody trains on", got, "take it out of one of them")


@dataclass
class Gathering:
    """Reads sources as the table ``[data]`` says; what the training files settle holds for all.

    Attributes
    ----------
    section
        The table ``[data]``.
    given
        What each target is, as the file says.
    folder
        That of the net file, from which paths count.
    agents, names
        Of the network.
    seed
        Of what is dealt and held out.
    directory
        Of the files of MNIST and Fashion-MNIST; None: the usual places.
    notes
        What was found and is worth knowing.
    """

    section: DataSection
    given: tuple[LabelColumn, ...]
    folder: Path
    agents: int
    names: tuple[str, ...] | None
    seed: int
    directory: Path | None = None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Targets get the names of columns, where there are columns.
        self.labels = self.given
        self._layout: Layout | None = None

    def data(self) -> AgentsData:
        """The agents' data, in the network's order, with sources as paths from the net file.

        Raises
        ------
        ValueError
            For anything wrong with the data, in one line that names the file and the place.
        """
        section = self.section
        if section.files is not None:
            found = self.files(section.files)
            parts = dict(zip(found, self.sources(list(found.values())), strict=True))
            test = self.test()
        elif section.agent is not None:
            parts = self.by_column(section.agent)
            test = self.test()
        else:
            parts, test = self.dealt()
        if test is not None and isinstance(section.test, str):
            _check_apart(list(parts.values()), test)
        share = section.test if isinstance(section.test, float) and section.deal is None else 0.0
        how = Preparation(
            labels=self.labels,
            validation=section.validation,
            test=share,
            standardise=section.standardise,
            tokens=section.tokens,
            seed=self.seed,
            missing=section.missing or "refuse",
        )
        other = None if section.other is None else self.other(section.other)
        names, sources = list(parts), list(parts.values())
        data = prepare(names, sources, how, test=test, other=other, notes=self.notes)
        return replace(data, sources=relative_to(self.folder, data.sources))

    # Whose a file is --------------------------------------------------------------------------

    def files(self, files: Sequence[str] | dict[str, str]) -> dict[str, Path]:
        """The path of each agent, by name, in the network's order.

        A file's agent is called like the file, without its ending; where files in several folders
        are called alike, like the folder; or, where the network's names say so, like what the ``*``
        of the pattern stands for. Without names in the network, agents are in the order of their
        names, with numbers in them read as numbers.

        Parameters
        ----------
        files
            A pattern or paths, relative to the folder; or paths by agent.

        Raises
        ------
        ValueError
            If a pattern matches nothing, there are not as many files as agents, two agents have one
            name, or the names are others than the network's.
        """
        if isinstance(files, dict):
            found = {name: self.folder / path for name, path in files.items()}
            return self.in_order(found, what="files")
        paths = [path for entry in files for path in _matching(entry, self.folder)]
        twice = next((path for k, path in enumerate(paths) if path in paths[:k]), None)
        if twice is not None:
            raise fail("data.files", "each file once", f"{twice} twice", "leave one out")
        if len(paths) != self.agents:
            shown = _shown([path.name for path in paths])
            wanted = f"{self.agents} files, one for each agent of the network"
            remedy = "change the pattern, or the number of agents"
            raise fail("data.files", wanted, f"{len(paths)} ({shown})", remedy)
        called = _names(paths)
        if self.names is not None and set(called) != set(self.names) and len(files) == 1:
            starred = _starred(files[0], paths, self.folder)
            called = starred if set(starred) == set(self.names) else called
        by_name = dict(zip(called, paths, strict=True))
        return self.in_order(by_name, what="files", sort=len(files) == 1)

    def in_order(self, found: dict[str, Item], *, what: str, sort: bool = False) -> dict[str, Item]:
        """What belongs to agents by name, in the order of the network's names, if it has names.

        Raises
        ------
        ValueError
            If there are not as many as agents, or their names are others than the network's.
        """
        shown = _shown(list(found))
        if len(found) != self.agents:
            wanted = f"{self.agents} agents, as the network has"
            remedy = "change the data, or the number of agents"
            raise fail(f"data.{what}", wanted, f"{len(found)} ({shown})", remedy)
        if self.names is None:
            order = sorted(found, key=natural) if sort else list(found)
            return {name: found[name] for name in order}
        absent = [name for name in self.names if name not in found]
        if absent:
            wanted = f"the names of the network, {absent[0]!r} among them"
            remedy = "rename one of them, or name the files of each agent in a table"
            raise fail(f"data.{what}", wanted, shown, remedy)
        return {name: found[name] for name in self.names}

    # What it holds ----------------------------------------------------------------------------

    def sources(self, paths: Sequence[Path]) -> list[LabelledRows]:
        """What files or folders for training hold."""
        kinds = {path.suffix.lower() in SUFFIXES for path in paths}
        if kinds == {True}:
            tables = [self._table(path) for path in paths]
            self._settle(tables)
            return [self._rows(table) for table in tables]
        if len(kinds) > 1:
            other = next(path for path in paths if path.suffix.lower() not in SUFFIXES)
            raise fail(str(other), "a table, as the others are", other.name, "give all one kind")
        return [self._plain(path) for path in paths]

    def by_column(self, column: str) -> dict[str, LabelledRows]:
        """The rows of one table by the agent that a column names."""
        assert self.section.file is not None
        path = self.folder / self.section.file
        if path.suffix.lower() not in SUFFIXES:
            wanted = f"a table with a column {column!r}"
            raise fail(str(path), wanted, path.name, "deal it with [data.deal]")
        table = self._table(path)
        table.require([column])
        self._settle([table], besides=(column,))
        rows = self._rows(table)
        entries = np.array([str(entry) for entry in table.columns[column].tolist()])
        found = {
            name: rows.take(np.flatnonzero(entries == name))
            for name in sorted(set(entries.tolist()), key=natural)
        }
        what = f"agent, column {column!r} of {path}"
        return self.in_order(found, what=what)

    def dealt(self) -> tuple[dict[str, LabelledRows], LabelledRows | None]:
        """One source dealt to the agents, and what is held out for the test before that."""
        section = self.section
        test = None
        if section.builtin is not None:
            builtin = read_builtin(section.builtin, directory=self.directory)
            self._check_builtin(builtin.is_regression)
            self._name_targets((builtin.target,))
            source = builtin.train
            test = self.test() if isinstance(section.test, str) else None
            if section.test is None:
                test = builtin.test
        else:
            assert section.file is not None
            (source,) = self.sources([self.folder / section.file])
            test = self.test()
        if isinstance(section.test, float) and section.test:
            rng = generator(self.seed, "test", "")
            share = section.test
            numbers = self._class_numbers(source)
            split = (
                split_rows(len(source), share, rng)
                if numbers is None
                else split_by_class(numbers, share, rng)
            )
            source, test = source.take(split.kept), source.take(split.held)
        assert section.deal is not None
        partition = self._partition(section.deal, source)
        held = sum(partition.sizes)
        if held < len(source):
            self.notes.append(f"{len(source) - held} of {len(source)} examples are nobody's")
        names = self.names or tuple(str(agent) for agent in range(partition.agents))
        return dict(zip(names, map(source.take, partition.indices), strict=True)), test

    def test(self) -> LabelledRows | None:
        """Test data in a file or folder of their own, if there are such."""
        if not isinstance(self.section.test, str):
            return None
        path = self.folder / self.section.test
        return self._rows(self._table(path)) if self._layout is not None else self._plain(path)

    def other(self, place: str) -> LabelledRows:
        """Inputs of another data set: a built-in's test data, or a file or folder."""
        if place in DATASETS:
            builtin = read_builtin(place, directory=self.directory)
            return builtin.train if builtin.test is None else builtin.test
        path = self.folder / place
        if self._layout is not None:
            return labelled_rows(self._table(path), replace(self._layout, targets=()))
        return self._plain(path, labelled=False)

    def _table(self, path: Path) -> Table:
        section = self.section
        return read_table(
            path,
            separator=section.separator,
            text=section.categories or (),
            decimal=section.decimal or ".",
            marks=section.missing_marks or (),
        )

    def _settle(self, tables: Sequence[Table], besides: Sequence[str] = ()) -> None:
        """The layout of all tables, from those for training."""
        if self.section.target is None:
            shown = ", ".join(tables[0].names[:12])
            remedy = 'add it, such as target = "length_of_stay"'
            raise fail("data.target", f"one of the columns {shown}", "none", remedy)
        self._name_targets(self.section.target)
        self._layout = layout_of(
            tables,
            targets=self.section.target,
            features=self.section.features,
            categories=self.section.categories or (),
            besides=besides,
            missing=self.section.missing == "mean",
        )
        self.notes += self._layout.notes
        if self._layout.left_out:
            names = ", ".join(self._layout.left_out)
            self.notes.append(f"columns left out, as they are not of numbers: {names}")

    def _rows(self, table: Table) -> LabelledRows:
        assert self._layout is not None
        return labelled_rows(table, self._layout)

    def _name_targets(self, names: Sequence[str]) -> None:
        """Call targets as their columns; one kind may stand for several columns."""
        labels = self.given
        if len(labels) == 1:
            labels = labels * len(names)
        if len(labels) != len(names):
            wanted = f"a likelihood for each of {len(names)} targets ({', '.join(names)})"
            got = f"{len(labels)} parts"
            raise fail("likelihood.parts", wanted, got, "add or remove parts")
        if len(names) > 1 and len(self.given) == 1 and labels[0].kind == "classes":
            remedy = (
                'write kind = "heads" with a part for each; of one-hot labels take their argmax'
            )
            raise fail("likelihood", "one target for classes", len(names), remedy)
        self.labels = tuple(
            replace(one, name=name) for one, name in zip(labels, names, strict=True)
        )

    def _plain(self, path: Path, *, labelled: bool = True) -> LabelledRows:
        """What a file or folder that is no table holds."""
        if is_image_folder(path):
            section = self.section
            return read_images(path, colour=section.colour, size=section.size, labelled=labelled)
        if is_idx(path):
            return read_idx_files(path)
        if path.suffix.lower() == ".npz":
            rows = read_npz(path, labelled=labelled, missing=self.section.missing == "mean")
            if labelled and len(rows.labels) != len(self.labels):
                self._name_targets([f"label {k}" for k in range(len(rows.labels))])
            return rows
        if path.is_dir():
            return read_images(path, labelled=labelled)  # which says what is missing
        wanted = f"a file that ends in {', '.join(SUFFIXES)} or .npz, IDX, or a folder of images"
        got = "no such file" if not path.exists() else repr(path.name)
        raise fail(str(path), wanted, got, "correct the path, or save the data as one of them")

    def _check_builtin(self, is_regression: bool) -> None:
        kinds = {label.kind for label in self.labels}
        fits = {"numbers", "counts"} if is_regression else {"classes"}
        if not kinds <= fits:
            name = "gaussian" if is_regression else "classes"
            wanted = f"{name}, for {self.section.builtin!r}"
            got = " and ".join(sorted(kinds))
            raise fail("likelihood.kind", wanted, got, "change the kind")

    def _class_numbers(self, source: LabelledRows) -> IntArray | None:
        """The number of each row's class; None if the target is no class."""
        if len(self.labels) != 1 or self.labels[0].kind != "classes":
            return None
        return label_numbers(source, (self._target(source),))

    def _target(self, source: LabelledRows) -> Target:
        return target_of([source], 0, self.labels[0])

    def _partition(self, deal: DealSection, source: LabelledRows) -> Partition:
        numbers = self._class_numbers(source)
        if numbers is None and deal.by not in ("sizes", "balanced"):
            wanted = "sizes or balanced, where targets are no classes"
            raise fail("data.deal.by", wanted, deal.by, "choose one of them")
        rule = self._rule(deal, source)
        if rule.agents != self.agents:
            wanted = f"{self.agents} agents, as the network has"
            remedy = "change the network, or the rule"
            raise fail(f"data.deal, {deal.by}", wanted, rule.agents, remedy)
        labels = np.zeros(len(source), dtype=np.int64) if numbers is None else numbers
        with worded(lambda text: f"data.deal: {text}"):
            return rule.deal(labels, seed=self.seed)

    def _rule(self, deal: DealSection, source: LabelledRows) -> Rule:
        """The rule that a table asks for; the section has seen that it has the rule's keys."""
        match deal.by:
            case "balanced":
                return Balanced(self.agents)
            case "sizes":
                return Sizes(deal.sizes or ())
            case "dirichlet":
                return Dirichlet(self.agents, deal.alpha or 0.0, deal.minimum or 2)
            case "labels":
                classes = self._target(source).classes or ()
                return ByLabels(self._groups(deal.groups or (), classes))
            case paper:
                return DEALINGS[paper].rule

    def _groups(
        self, groups: Sequence[Sequence[str | int]], classes: Sequence[str]
    ) -> tuple[tuple[int, ...], ...]:
        """Each agent's classes by number; a note where numbers may be taken for names."""
        found = []
        for k, group in enumerate(groups):
            for one in group:
                if isinstance(one, int) and one >= len(classes) and str(one) in classes:
                    wanted = f"numbers of classes, which count from 0 to {len(classes) - 1}"
                    remedy = f'write "{one}" in quotation marks for the class of that name'
                    raise fail(f"data.deal.groups[{k}]", wanted, one, remedy)
            place = f"data.deal.groups[{k}]"
            found.append(tuple(as_position(place, one, classes) for one in group))
        numbers = {one for group in groups for one in group if isinstance(one, int)}
        if any(classes[one] != str(one) for one in numbers):
            names = self.names or [str(k) for k in range(len(found))]
            shown = "; ".join(
                f"{name}: {', '.join(repr(classes[one]) for one in group)}"
                for name, group in list(zip(names, found, strict=False))[:8]
            )
            self.notes.append(f"groups, by numbers from 0, give agents these classes: {shown}")
        return tuple(found)
