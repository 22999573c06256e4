"""`peerbayes explore`: a page on which a problem lives, and what it is computed by."""
