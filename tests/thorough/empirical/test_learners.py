"""What learners converge to, where it takes thousands of steps."""

from empirical.train.learners import Sites
from tests.empirical.train.test_learners import check_the_best_of_independent_gaussians


def test_beliefs_of_sites_are_the_best_of_independent_gaussians() -> None:
    check_the_best_of_independent_gaussians(Sites, local_steps=3)
