from balancer.runtime cimport calls

# No class here has attributes of its own, but what is called for each piece of bytes is compiled.
