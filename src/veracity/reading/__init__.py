"""Reading: which columns are what, and how a table becomes rows of claims."""
