"""What is counted, where the counts live, how the request path counts, and how Prometheus reads it all."""
