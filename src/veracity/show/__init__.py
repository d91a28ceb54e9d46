"""What people look at: figures, reports, a terminal, a notebook."""
