"""Rules between facts: read and checked, turned into factors, and used in learning and judging."""
