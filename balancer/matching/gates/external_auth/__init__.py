"""Asks an auth service about requests: what it is asked, what its answers mean, and how long they are remembered."""
