# No class here has attributes of its own, but what is called for each connection is compiled.
