"""What the program says, frozen: every command on problems of every kind, and what it leaves.

    python -m tests.frozen make        # write the goldens of today into tests/frozen/outputs
    python -m tests.frozen compare     # say where the program differs from them
    python -m tests.frozen ratios      # how fast the house is beside plainer ways, then and now

A *case* is something to run (`cases`); a *golden* is one thing that it says: its JSON, its text on
a terminal, a record, a page. What cannot be the same on every run is replaced by placeholders, by
the rules in `normal`; numbers are compared within `comparing.RELATIVE`.
"""
