cimport cython

from balancer.http.origin cimport Origin
from balancer.http.streams cimport Outgoing
from balancer.http1.heads cimport RepeatedLines


@cython.locals(origin=Origin, lines=RepeatedLines, head=bytes, method=bytes)
cpdef bytes endpoint_request_head(Outgoing outgoing)
cpdef RepeatedLines lines_of(request)
cpdef bytes client_response_head(response, str protocol, bint chunked, bint keep_alive, edit)
cpdef bytes interim_response(response)
cpdef bytes switching_response(response, edit)
