"""Rows become blocks: schema, reading, normalising, encoding, known truths."""
