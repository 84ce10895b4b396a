"""HTTP/1.1 on the wire: parsers and writers without I/O (core), and two thin asyncio protocols that use them."""
