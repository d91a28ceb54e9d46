"""Which sources depend on each other: the one place that counts pairs of sources."""
