"""`peerbayes explore`: a problem on a page, to be seen, moved and designed.

The page (`page/`) holds the document of a problem and nothing else; every number and every edit
comes from Python. `serving` opens the address, `guard` lets in who may come in, `app` turns
requests into jobs, `jobs` has them done in worker processes, which `nursery` forks, and `work` says
which function does what. What the functions know of problems is in the other modules.

Importing `serving`, `guard`, `app` and `jobs` loads nothing that computes but numpy: the address
answers while the workers are still importing the rest.
"""
