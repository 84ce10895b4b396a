cdef class Greetings:
    cdef public object _names, _relays
    cpdef choice(self, entry_point, hello)
    cpdef names_for(self, entry_point, choice)


cpdef bint speaks(hello, bint http2) except -1
cpdef context_for(names, hello)
