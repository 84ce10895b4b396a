cimport cython

from balancer.connections.clienthello cimport read_hello
from balancer.runtime cimport calls
from balancer.runtime.accepted cimport AcceptedSocket


@cython.locals(ahead=bytes)
cpdef hello_at_hand(AcceptedSocket connection)
