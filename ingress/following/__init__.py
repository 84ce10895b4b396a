"""Follows a source: turns events into an inventory, a translation and a publication."""
