"""Figures: drawn with matplotlib, written as SVG that takes the colours of its page."""
