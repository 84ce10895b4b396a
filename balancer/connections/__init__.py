"""Accepts, secures and pools connections."""
