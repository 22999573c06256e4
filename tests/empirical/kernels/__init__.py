"""Tests of the compiled inner loops of training."""
