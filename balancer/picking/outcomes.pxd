cpdef outcome_of(error, long status, grpc_status=*)
