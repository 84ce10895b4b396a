"""Spans: what is told about a request to a collector of traces."""
