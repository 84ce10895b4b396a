"""Listeners and routes of Gateway API that come and go under load, with workers and a leader that are killed."""
