cdef class AnswerRecord:
    cdef public Py_ssize_t counted
    cdef public double bad, blame, blamed_at, doubted_until, good
    cdef public list bad_by, good_by
    cdef public object failed_for
    cpdef double burden(self, double now)


cdef class Experience:
    cdef public Py_ssize_t answers
    cdef public bint is_out, is_watched
    cdef public double heard_at
    cdef public AnswerRecord met
    cpdef double burden(self, double now)
