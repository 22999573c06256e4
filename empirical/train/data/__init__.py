"""The agents' data: read from files, dealt, split, standardised without sharing rows."""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from empirical.dealing import Balanced, Dirichlet, Sizes
    from empirical.train.data.agents_data import AgentsData, Scaling
    from empirical.train.data.arrays import data_of_arrays, read_npz
    from empirical.train.data.columns import Layout, labelled_rows, layout_of, read_images
    from empirical.train.data.examples import (
        Examples,
        Moments,
        Split,
        Target,
        pooled,
        split_by_class,
        split_rows,
    )
    from empirical.train.data.preparing import LabelColumn, Preparation, prepare
    from empirical.train.data.source_files import (
        BUILTINS,
        Builtin,
        LabelledRows,
        Sources,
        check_unchanged,
        read_builtin,
        read_idx_files,
    )
    from empirical.train.data.tables import Table, read_table
else:
    show_lazily(__name__)

__all__ = [
    "BUILTINS",
    "AgentsData",
    "Balanced",
    "Builtin",
    "Dirichlet",
    "Examples",
    "LabelColumn",
    "LabelledRows",
    "Layout",
    "Moments",
    "Preparation",
    "Scaling",
    "Sizes",
    "Sources",
    "Split",
    "Table",
    "Target",
    "check_unchanged",
    "data_of_arrays",
    "labelled_rows",
    "layout_of",
    "pooled",
    "prepare",
    "read_builtin",
    "read_idx_files",
    "read_images",
    "read_npz",
    "read_table",
    "split_by_class",
    "split_rows",
]
