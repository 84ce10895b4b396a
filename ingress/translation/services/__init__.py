"""Services and their slices: references to backends, endpoints, zones, and what nobody would notice about them."""
