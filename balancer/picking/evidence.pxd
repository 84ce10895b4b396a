cdef class Experience:
    cdef public Py_ssize_t answers, counted
    cdef public double bad, blame, blamed_at, doubted_until, good
    cdef public list bad_by, good_by
    cdef public bint is_out, is_watched
    cpdef double burden(self, double now)
