"""What Secrets hold: certificates, keys, authorities, users, judged before anything uses them."""
