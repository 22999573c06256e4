"""The agents' data: read from files, dealt, split, standardised without sharing rows."""
