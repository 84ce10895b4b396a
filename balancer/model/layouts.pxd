cdef class RoutePolicyLayout:
    cdef readonly object attempt_seconds, body_rate, body_rate_after, calls_in_http2, connect_timeout_seconds, connection
    cdef readonly object host, http_1_0
    cdef readonly object logged, max_body_bytes, read_timeout_seconds, repeats_endpoints, request_seconds, retry_codes
    cdef readonly object retry_on, retry_pause_seconds, retry_seconds, send_timeout_seconds
    cdef readonly object spool_memory_bytes, spools_bodies, tries, upgrade_protocols


cdef class RouteLayout:
    cdef readonly object branches, closed, conditions, expression, gates, kind, long_expression, mirroring
    cdef readonly object mirrors, owner, path
    cdef readonly RoutePolicyLayout policy
    cdef readonly object request_edits, response_rules, rewriting, stand_ins


cdef class ProxySettingsLayout:
    cdef readonly object allow_backend_server_header, brotli, client_body_timeout_seconds, client_connections
    cdef readonly object client_header_timeout_seconds, compression, endpoint_idle_connections, endpoint_idle_seconds
    cdef readonly object endpoint_requests, generate_request_id, head_bytes, head_line_bytes, head_lines_max
    cdef readonly object hidden_fields, hsts, http2, keep_alive_requests, keep_alive_seconds, kept_fields, log, names_server
    cdef readonly object proxy_protocol, proxy_protocol_timeout_seconds, request_fields, response_fields, spans, stream_idle_seconds
    cdef readonly object tls, trusted, underscores_in_headers
