"""Problems: value objects, the files that describe them, and the built-in ones."""

GRAPH_ENDINGS = (".graphml", ".gml", ".net", ".pajek", ".edges", ".edgelist", ".csv")
"""How the names of graph files end (`peerbayes.problem.graph_files`)."""


def is_graph_file(name: str) -> bool:
    """Whether a file is a graph, by its name.

    >>> is_graph_file("coast.graphml"), is_graph_file("coast.toml")
    (True, False)
    """
    return name.lower().endswith(GRAPH_ENDINGS)
