"""The largest rate, and the influences that have it."""
