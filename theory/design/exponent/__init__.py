"""The largest error exponent, and the influences that have it."""
