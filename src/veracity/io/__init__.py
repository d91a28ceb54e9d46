"""Where claims come from and where results go: files, frames, folders."""
