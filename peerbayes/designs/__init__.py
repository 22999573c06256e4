"""What a network should be changed to, and which agent should hold which data."""
