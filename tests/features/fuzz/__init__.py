"""Inputs that nobody thought of: mutated messages for the parsers, and byte streams cut anywhere for the connection."""
