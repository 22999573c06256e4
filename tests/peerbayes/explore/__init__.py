"""Tests of `peerbayes explore`."""
