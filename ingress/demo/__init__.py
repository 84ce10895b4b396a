"""The embedded cluster: three zones of small backends on loopback, and the real ingress before them."""
