"""Decides how the zone of an endpoint counts: one file for each policy, the reasons, and the split into pools."""
