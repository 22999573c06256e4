"""Kinds of problem: what each offers to the commands, behind one protocol."""
