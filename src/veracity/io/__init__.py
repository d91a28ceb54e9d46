"""Read claims from files, frames and databases; write results to them."""
