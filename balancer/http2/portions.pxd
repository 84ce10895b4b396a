cdef class Portions:
    cdef public object _hand_on, _transport
    cdef public bytes _waiting
    cpdef add(self, bytes data, transport, hand_on)
    cpdef clear(self)
