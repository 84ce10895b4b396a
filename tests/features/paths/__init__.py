"""The path that common endpoints serve for a target, and targets that they read in different ways."""
