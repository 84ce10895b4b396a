cdef class TariffLayout:
    cdef readonly object blind_received, blind_sent, received, sent
