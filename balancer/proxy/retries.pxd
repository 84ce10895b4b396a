cpdef bint keeps_body(bytes method, body_bytes, tuple on, long tries, bint refusable=*) except -1
