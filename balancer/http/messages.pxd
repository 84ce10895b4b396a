cdef class Repeated:
    cdef public tuple connection_options
    cdef public object in_fields, in_lines, noted, request_id


cdef class Written:
    cdef public object body_bytes, depends_on, edit, in_lines
    cdef public tuple fields
    cdef public bytes head
