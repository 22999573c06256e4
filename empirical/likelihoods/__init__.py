"""What a net's outputs say of a label: classes, numbers, counts, and several of them at once."""
