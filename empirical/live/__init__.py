"""One agent of a network of nets by itself: its own share, its own steps, its own pooling.

Who says what to whom, over which wire, is not known here: a caller asks for a round's message,
and hands over what was heard and by which weights.
"""
