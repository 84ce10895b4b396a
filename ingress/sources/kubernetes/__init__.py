"""Reads the cluster from the API server: a client, and one reflector for each scope."""
