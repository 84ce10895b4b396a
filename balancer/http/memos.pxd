cdef class Memo:
    cdef public Memo beside


cdef class Remembering:
    cdef public Memo memo


cpdef recalled(Remembering about, kind)
