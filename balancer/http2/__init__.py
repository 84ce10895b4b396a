"""HTTP/2 to clients and to endpoints (RFC 9113)."""
