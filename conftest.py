"""Collect the code in the documentation and in docstrings as tests (see tests/pages.py)."""

# In these packages a module and what it defines go by one name. Imported before pytest collects the
# modules one by one, they keep the names that the packages export.
from tests.pages import docstrings, pages

pytest_collect_file = (pages + docstrings).pytest()
