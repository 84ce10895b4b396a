"""What we write to the cluster: who may write (a Lease), addresses of Ingresses, and Kubernetes Events."""
