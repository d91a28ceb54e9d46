"""Read tables: find the role of each column, and turn rows into claims."""
