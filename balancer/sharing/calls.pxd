from cpython.array cimport array, copy


cdef inline array _words(object column):
    return column if type(column) is array else array("d", column)


cdef inline array added(object one, object other):
    cdef array made = copy(_words(one))
    cdef array words = _words(other)
    cdef Py_ssize_t place
    for place in range(len(made)):
        made.data.as_doubles[place] += words.data.as_doubles[place]
    return made


cdef inline array grown(object after, object before):
    cdef array made = copy(_words(after))
    cdef array words = _words(before)
    cdef Py_ssize_t place
    for place in range(len(made)):
        made.data.as_doubles[place] -= words.data.as_doubles[place]
    return made


cdef inline array multiplied(object one, object other):
    cdef array made = copy(_words(one))
    cdef array words = _words(other)
    cdef Py_ssize_t place
    for place in range(len(made)):
        made.data.as_doubles[place] *= words.data.as_doubles[place]
    return made


cdef inline array divided(object column, object by):
    cdef array made = copy(_words(column))
    cdef array words = _words(by)
    cdef Py_ssize_t place
    for place in range(len(made)):
        if words.data.as_doubles[place] == 0.0:
            raise ZeroDivisionError
        made.data.as_doubles[place] = made.data.as_doubles[place] / words.data.as_doubles[place]
    return made


cdef inline array nearer(object start, object end, double part):
    cdef array made = copy(_words(start))
    cdef array words = _words(end)
    cdef Py_ssize_t place
    for place in range(len(made)):
        made.data.as_doubles[place] += (words.data.as_doubles[place] - made.data.as_doubles[place]) * part
    return made


cdef inline array scaled(object column, double factor):
    cdef array made = copy(_words(column))
    cdef Py_ssize_t place
    for place in range(len(made)):
        made.data.as_doubles[place] *= factor
    return made


cdef inline double total(object column) except? -1.0:
    cdef array words = _words(column)
    cdef Py_ssize_t place
    cdef double found = 0.0
    for place in range(len(words)):
        found += words.data.as_doubles[place]
    return found


cdef inline double lowest(object column) except? -1.0:
    cdef array words = _words(column)
    cdef Py_ssize_t place
    cdef double found = words.data.as_doubles[0] if len(words) else 0.0
    for place in range(len(words)):
        if words.data.as_doubles[place] < found:
            found = words.data.as_doubles[place]
    return found


cdef inline double highest(object column) except? -1.0:
    cdef array words = _words(column)
    cdef Py_ssize_t place
    cdef double found = words.data.as_doubles[0] if len(words) else 0.0
    for place in range(len(words)):
        if words.data.as_doubles[place] > found:
            found = words.data.as_doubles[place]
    return found


cdef inline bint is_sound(object column) except -1:
    cdef array words = _words(column)
    cdef Py_ssize_t place
    cdef double whole = 0.0
    for place in range(len(words)):
        if not words.data.as_doubles[place] >= 0.0:
            return False
        whole += words.data.as_doubles[place]
    return whole <= 1.7976931348623157e308


cdef inline bint is_between(object column, object least, object most) except -1:
    cdef array words = _words(column)
    cdef array low = _words(least)
    cdef array high = _words(most)
    cdef Py_ssize_t place
    for place in range(len(words)):
        if not low.data.as_doubles[place] <= words.data.as_doubles[place] <= high.data.as_doubles[place]:
            return False
    return True
