cimport cython


@cython.locals(read=tuple)
cpdef tuple find(bytes data, settings)
cpdef remember(bytes head, settings, request, bint keep_alive)
