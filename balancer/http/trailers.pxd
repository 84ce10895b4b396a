from balancer.http.passing cimport like_dashes


cpdef tuple trailers_for_client(tuple trailers, frozenset hidden)
