"""Decides which route and which backend a request is for."""
