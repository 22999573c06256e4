"""The influences that a design can choose from, and linear programs over them."""
