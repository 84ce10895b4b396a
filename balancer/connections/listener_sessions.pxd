# No class here has attributes of its own, but what is called for each handshake is compiled.
