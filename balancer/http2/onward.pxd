cimport cython

from balancer.http.layouts cimport RequestHeadLayout
from balancer.http.memos cimport Memo, recalled
from balancer.http.messages cimport Repeated
from balancer.http.origin cimport Origin
from balancer.http.streams cimport Outgoing


cdef class FieldsOnward(Memo):
    cdef public tuple fields
    cdef public object passing


cdef class OriginFields(Memo):
    cdef public tuple fields


@cython.locals(request=RequestHeadLayout, origin=Origin, repeated=Repeated, method=bytes, fields=tuple)
@cython.locals(known=FieldsOnward, about=OriginFields, fields_onward=tuple)
cpdef tuple endpoint_request_fields(Outgoing outgoing, bint secure)
@cython.locals(known=OriginFields)
cdef OriginFields _origin_fields(Origin origin)
