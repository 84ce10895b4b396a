"""Which Services left their zone policy or returned to it."""
