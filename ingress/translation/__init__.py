"""Turns the inventory into one routing model and the findings about everything that could not be carried out."""
