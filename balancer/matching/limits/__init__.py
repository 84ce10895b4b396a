"""Counts of requests by client address, in memory that all workers of one replica share."""
