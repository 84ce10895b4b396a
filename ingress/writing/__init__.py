"""What zonal writes to the cluster: a Lease (who may write), addresses of Ingresses, and Kubernetes Events."""
