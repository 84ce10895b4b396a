"""Writes the access log and the log on standard error."""
