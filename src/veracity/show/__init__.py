"""Show results in figures, reports, a terminal and notebooks."""
