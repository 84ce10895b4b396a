cimport cython


cdef class ClientPlaces:
    cdef public dict _by_count, _client_of, _members
    cdef public Py_ssize_t _most_held
    @cython.locals(members=dict, count=Py_ssize_t)
    cpdef enter(self, member, client)
    @cython.locals(members=dict, left=Py_ssize_t)
    cpdef leave(self, member)
    @cython.locals(by_count=dict, clients=dict)
    cdef _count(self, client, Py_ssize_t before, Py_ssize_t now)
