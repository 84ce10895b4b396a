"""`kubectl zonal`: finds the replicas in a cluster, and asks them what `zonal` asks an admin port."""
