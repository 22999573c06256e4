"""Collect the code in the documentation and in docstrings as tests (see tests/pages.py)."""

from importlib import import_module

from tests.pages import docstrings, pages

# Here a module and the function in it may go by one name. Imported before pytest collects modules
# one by one, packages keep what they export under it.
for package in ("exact", "peerbayes.designs", "theory.design", "theory.learnability"):
    import_module(package)

pytest_collect_file = (pages + docstrings).pytest()
