"""The data plane: serves the newest routing model. Knows nothing of Kubernetes and imports nothing from `ingress`."""
