"""A number declared once: quantities, tables of them, and the results that are made of them.

Read `quantity` first: what a declaration says. `result` makes JSON, schema, text and frames of it,
`numbers` writes the numbers of every arithmetic, and `showing` words and lays them out.
"""
