"""The code of balancer/http2."""
