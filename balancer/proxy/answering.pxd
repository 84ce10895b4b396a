from balancer.proxy.context cimport RequestContext


cpdef write_error(RequestContext context, kind)
cpdef write_reply(RequestContext context, reply)
cpdef bint wants_page(RequestContext context, kind, status) except -1
cdef _respond(RequestContext context, response, grpc_status=*)
cdef bint _is_call(RequestContext context) except -1
cdef bint _is_head_only(RequestContext context) except -1
