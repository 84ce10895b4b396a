"""The control plane: turns Kubernetes objects into the routing model that `balancer` serves."""
