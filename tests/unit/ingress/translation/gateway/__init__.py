"""Gateway API: what is made of its objects."""
