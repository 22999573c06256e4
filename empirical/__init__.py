"""Measurements on real images: data, who holds them, and trained classifiers as hypotheses.

Importing this package loads neither a learning library nor a data set; functions do so when called.
Networks of neural nets live in :mod:`empirical.nets`, which needs torch.
"""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from empirical.classifiers import RECIPES as RECIPES
    from empirical.classifiers import Classifier as Classifier
    from empirical.classifiers import LikelihoodTable as LikelihoodTable
    from empirical.classifiers import Recipe as Recipe
    from empirical.classifiers import classifier_model as classifier_model
    from empirical.classifiers import likelihood_table as likelihood_table
    from empirical.classifiers import look_table as look_table
    from empirical.data import DataNotFound as DataNotFound
    from empirical.data import Images as Images
    from empirical.data import load_digits as load_digits
    from empirical.data import load_images as load_images
    from empirical.data import locate as locate
    from empirical.dealing import DEALINGS as DEALINGS
    from empirical.dealing import ByLabels as ByLabels
    from empirical.dealing import Dealing as Dealing
    from empirical.dealing import Evenly as Evenly
    from empirical.dealing import Informative as Informative
    from empirical.dealing import Shards as Shards
    from empirical.dealing import held_labels as held_labels
    from empirical.dealing import stratified_subset as stratified_subset
    from empirical.diabetes import GROUPS as GROUPS
    from empirical.diabetes import RegressionTable as RegressionTable
    from empirical.diabetes import load_diabetes as load_diabetes
    from empirical.diabetes import split_features as split_features
    from empirical.diabetes import split_rows as split_rows
    from empirical.partition import GRID_PLACEMENTS as GRID_PLACEMENTS
    from empirical.partition import LABEL_SPLITS as LABEL_SPLITS
    from empirical.partition import LabelSplit as LabelSplit
    from empirical.partition import Partition as Partition
    from empirical.partition import star_partition as star_partition
else:
    show_lazily(__name__)
