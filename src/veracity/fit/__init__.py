"""The only loop over rounds, and what is kept of it."""
