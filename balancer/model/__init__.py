"""Defines the routing model: everything the data plane knows, immutable and compared by value."""
