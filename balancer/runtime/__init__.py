"""Serves every event loop: deadlines, reading, transports, garbage collection and lag."""
