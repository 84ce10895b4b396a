"""HTTP/1.1 on the wire: checks and rules without I/O (core), and the two thin protocols and the pools that use them."""
