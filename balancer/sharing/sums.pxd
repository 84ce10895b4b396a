from balancer.sharing cimport calls


cpdef added(one, other)
cpdef grown(after, before)
cpdef multiplied(one, other)
cpdef divided(column, by)
cpdef nearer(start, end, double part)
cpdef scaled(column, double factor)
cpdef double total(column) except? -1.0
cpdef double lowest(column) except? -1.0
cpdef double highest(column) except? -1.0
cpdef bint is_sound(column) except -1
cpdef bint is_between(column, least, most) except -1
