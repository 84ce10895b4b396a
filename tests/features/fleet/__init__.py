"""Replicas in simulated time."""
