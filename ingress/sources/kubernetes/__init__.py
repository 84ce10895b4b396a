"""The cluster as a source: the API server's client and one reflector for each scope that is followed."""
