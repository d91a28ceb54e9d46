"""Loop over rounds, and the fit that it returns."""
