"""What the replicas of one ingress tell each other, and what each of them makes of that."""
