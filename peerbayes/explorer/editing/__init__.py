"""What each kind of edit does to the content of a problem file."""
