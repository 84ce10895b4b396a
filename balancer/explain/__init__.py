"""Explains where a request would go, and why, by asking the code that serves."""
