cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.http.streams cimport Outgoing
from balancer.live cimport View
from balancer.matching.destinations cimport Destination
from balancer.matching.served cimport Match, Served
from balancer.proxy.account cimport Account
from balancer.proxy.context cimport RequestContext


@cython.locals(served=Served, to=Destination, request=RequestHeadLayout, account=Account, view=View)
cpdef prepare(RequestContext context, Outgoing outgoing, Match match, go, body)
@cython.locals(served=Served, to=Destination)
cpdef changed(RequestContext context, Outgoing outgoing, Match match)
