"""Runs the embedded cluster: small backends in three zones on loopback, and the real ingress in front of them."""
