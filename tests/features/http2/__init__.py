"""The cases of HTTP/2 on the wire, played by clients and endpoints that write raw frames."""
