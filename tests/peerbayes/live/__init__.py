"""Live peers."""
