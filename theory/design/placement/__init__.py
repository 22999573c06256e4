"""Which agent should hold which data."""
