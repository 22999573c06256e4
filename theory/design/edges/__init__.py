"""Which edges to keep, to add, to spare."""
