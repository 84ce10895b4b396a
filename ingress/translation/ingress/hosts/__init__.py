"""What Ingresses together mean for a whole host: conflicts, expressions, further names, redirects, protection."""
