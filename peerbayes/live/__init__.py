"""Agents as processes of their own, that come and go."""
