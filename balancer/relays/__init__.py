"""Carries connections as bytes to an endpoint: TCP, TLS that passes, and TLS that ends here, without HTTP."""
