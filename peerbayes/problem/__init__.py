"""Problems: value objects, the files that describe them, and the built-in ones."""
