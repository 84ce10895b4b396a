"""Counts on the request path, keeps the counters, and renders them for Prometheus."""
