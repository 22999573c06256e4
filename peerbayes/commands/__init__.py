"""The commands, one a file: options in, the function of the problem's kind, words out."""
