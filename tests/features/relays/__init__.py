"""Streams over real sockets: TLS that passes, TLS that ends here, TCP."""
