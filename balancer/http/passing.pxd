cdef class Passing:
    cdef public frozenset kept
    cdef public bint trusts, underscores


cpdef bint is_of_proxies(bytes name) except -1
cpdef bint is_said_by_us(bytes name) except -1
cpdef bytes name_onward(bytes name, Passing rules)
cpdef bint has_other_signs(bytes name) except -1
cpdef bytes like_dashes(bytes name)
cpdef bint passes_as_trailer(bytes name) except -1
