"""Runs the life of a request, top to bottom: match, pick, attempt, relay or error, account."""
