"""Reads objects of Gateway API: listeners, routes attached to them, references, and what their statuses should say."""
