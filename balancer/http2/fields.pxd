cpdef check_fields(tuple fields, kind)
cpdef tuple trailers_of(tuple fields, kind)
cpdef tuple trailer_fields(tuple trailers)
