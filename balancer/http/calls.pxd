cdef inline Py_ssize_t alike_from_start(bytes one, bytes other, Py_ssize_t start) noexcept:
    cdef const char* first = one
    cdef const char* second = other
    cdef Py_ssize_t alike = 0
    cdef Py_ssize_t most = min(len(one), len(other) - start)
    second += start
    while alike < most and first[alike] == second[alike]:
        alike += 1
    return alike


cdef inline Py_ssize_t alike_to_end(bytes one, bytes other, Py_ssize_t most) noexcept:
    cdef const char* first = one
    cdef const char* second = other
    cdef Py_ssize_t alike = 0
    first += len(one) - 1
    second += len(other) - 1
    while alike < most and first[-alike] == second[-alike]:
        alike += 1
    return alike
