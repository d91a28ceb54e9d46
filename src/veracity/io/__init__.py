"""Where claims come from and where results go: files, frames, folders that appear whole or not at all."""
