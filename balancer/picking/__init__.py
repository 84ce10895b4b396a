"""Decides which endpoint of a backend serves a request."""
