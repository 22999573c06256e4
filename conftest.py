"""Collect the code in the documentation and in docstrings as tests (see tests/pages.py)."""

from tests.pages import docstrings, pages

pytest_collect_file = (pages + docstrings).pytest()
