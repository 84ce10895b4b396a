from balancer.proxy.context cimport RequestContext


cpdef begin_call(RequestContext context, double now)
