"""Where cluster objects come from: each source yields the same events."""
