"""Sources read cluster objects; each source yields the same events."""
