"""The version of the program, which records and checkpoints are bound to."""

__version__ = "0.2.0"
