"""What stands around replicas that are restarted one after the other: a load balancer and clients that never pause."""
