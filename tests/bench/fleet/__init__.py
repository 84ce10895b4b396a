"""What replicas that act as one are worth and what they cost, by simulation: `make fleet` writes the page."""
