"""Turns the inventory into one routing model, and findings about everything that could not be carried out."""
