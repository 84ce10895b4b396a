cdef class ExchangeOwner:
    cpdef bint passes_over(self, long status, bint is_request_here) except -1
    cpdef bint leaves_silent(self, sent) except -1
    cpdef limit_passed(self)
    cpdef exchange_ended(self, error, bint reused, double ended_at, double answered_at)
