"""How the zone of an endpoint counts: one file per policy, the reasons, and the split into pools."""
