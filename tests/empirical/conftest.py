"""Tests of nets are left out where the libraries that nets need are missing."""

from importlib.util import find_spec

if not all(map(find_spec, ("torch", "safetensors", "pywt"))):
    collect_ignore = ["gae", "live", "messages", "nets", "train"]
