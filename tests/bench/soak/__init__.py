"""The soak: mixed traffic for minutes or hours while the cluster changes each second and workers are killed."""
