"""Defines HTTP messages that belong to no HTTP version."""
