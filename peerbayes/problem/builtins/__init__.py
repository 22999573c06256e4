"""The built-in problems, a family or a few alike in each file."""
