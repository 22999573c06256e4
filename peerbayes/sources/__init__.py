"""The figures of the sources, redrawn from records, each with a verdict that a rule gives.

`peerbayes.sources.catalogue` knows them all by name. A figure names the parts it is drawn from,
reads what is on record of them (`peerbayes.sources.documents`), and holds everything that its
source prints against it (`peerbayes.sources.rules`).
"""
