"""Endpoints in zones, a worker before them and clients that never pause, in one event loop."""
