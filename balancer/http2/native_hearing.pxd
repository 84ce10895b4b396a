cdef int listen() except -1
