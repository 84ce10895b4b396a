"""Says what to write instead of a directive of nginx that zonal does not carry out. One table."""

from __future__ import annotations

from collections.abc import Mapping

_TIMEOUT = "use the annotations proxy-connect-timeout, proxy-send-timeout and proxy-read-timeout"
_BUFFERS = "remove the line, because zonal needs no such buffers"
_TLS = "use the annotations proxy-ssl-*"
_OWN_PATH = "give the path an Ingress of its own, with annotations"
_FILES = "serve files from a Pod"
_NO_CACHE = "remove the line, because zonal keeps no cache"
_REAL_IP = "use the keys use-forwarded-headers, use-proxy-protocol and proxy-real-ip-cidr of the ConfigMap"
_HOOK = "write a hook"
_LIMIT = "use the annotations limit-rps, limit-rpm and limit-connections"


def _rows(names: str, instead: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), instead)


INSTEAD: Mapping[str, str] = {
    **_rows("location", _OWN_PATH),
    **_rows(
        """proxy_connect_timeout proxy_read_timeout proxy_send_timeout grpc_connect_timeout grpc_read_timeout
        grpc_send_timeout send_timeout""",
        _TIMEOUT,
    ),
    **_rows(
        """proxy_buffer_size proxy_buffers proxy_busy_buffers_size proxy_max_temp_file_size fastcgi_buffers
        fastcgi_buffer_size client_body_buffer_size large_client_header_buffers client_header_buffer_size""",
        _BUFFERS,
    ),
    **_rows("proxy_buffering", "remove the line, because answers are streamed"),
    **_rows("proxy_request_buffering", "use the annotation proxy-request-buffering"),
    **_rows("client_max_body_size", "use the annotation proxy-body-size"),
    **_rows("client_body_timeout client_header_timeout", "use the key client-body-timeout of the ConfigMap"),
    **_rows("keepalive_timeout", "use the key keep-alive of the ConfigMap"),
    **_rows("gzip gzip_types gzip_min_length gzip_comp_level", "use the keys use-gzip and gzip-* of the ConfigMap"),
    **_rows("auth_basic auth_basic_user_file", "use the annotations auth-type and auth-secret"),
    **_rows("auth_request auth_request_set", "use the annotations auth-url and auth-response-headers"),
    **_rows("satisfy", "use the annotation satisfy"),
    **_rows("limit_req limit_conn limit_req_status limit_conn_status limit_req_zone limit_conn_zone", _LIMIT),
    **_rows("limit_rate limit_rate_after", "use the annotations limit-rate and limit-rate-after"),
    **_rows("proxy_cookie_path proxy_cookie_domain", "use the annotations proxy-cookie-path and proxy-cookie-domain"),
    **_rows("proxy_redirect", "use the annotations proxy-redirect-from and proxy-redirect-to"),
    **_rows("proxy_http_version", "use the annotation proxy-http-version"),
    **_rows(
        "proxy_ssl_verify proxy_ssl_name proxy_ssl_server_name proxy_ssl_trusted_certificate proxy_ssl_certificate",
        _TLS,
    ),
    **_rows("proxy_next_upstream proxy_next_upstream_tries", "use the annotations proxy-next-upstream*"),
    **_rows("proxy_pass grpc_pass", "name the Service in an Ingress of its own"),
    **_rows("proxy_intercept_errors error_page", "use the annotation custom-http-errors"),
    **_rows("access_log", "use the annotation enable-access-log"),
    **_rows("server_name", "use the annotation server-alias"),
    **_rows("grpc_set_header more_set_input_headers more_clear_input_headers", "use proxy_set_header"),
    **_rows("root alias index try_files autoindex", _FILES),
    **_rows("break", "end the snippet before the line"),
    **_rows("include", "write the lines of the file in its place"),
    **_rows(
        """proxy_cache proxy_cache_bypass proxy_no_cache proxy_cache_valid proxy_cache_key proxy_cache_lock
        proxy_cache_use_stale proxy_cache_methods proxy_cache_min_uses proxy_cache_revalidate proxy_ignore_headers""",
        _NO_CACHE,
    ),
    **_rows("set_real_ip_from real_ip_header real_ip_recursive", _REAL_IP),
    **_rows("underscores_in_headers", "use the key enable-underscores-in-headers of the ConfigMap"),
    **_rows("server_tokens", "use the key server-tokens of the ConfigMap"),
    **_rows("log_format", "use the key log-format-upstream of the ConfigMap"),
    **_rows(
        "ssl_ciphers ssl_prefer_server_ciphers",
        "use the keys ssl-ciphers and ssl-prefer-server-ciphers of the ConfigMap",
    ),
    **_rows("ssl_protocols", "use the key ssl-protocols of the ConfigMap"),
    **_rows("absolute_redirect", "use the annotation relative-redirects"),
    **_rows("keepalive_requests", "use the key keep-alive-requests of the ConfigMap"),
    **_rows("modsecurity modsecurity_rules modsecurity_rules_file", "filter requests before zonal"),
    **_rows("limit_except", "test $request_method by if, and return 403"),
    **_rows("resolver resolver_timeout", "remove the line, because zonal resolves no names of the snippet"),
    **_rows("sub_filter sub_filter_once sub_filter_types map geo", _HOOK),
}
"""What to write instead, as a clause, by the name of the directive."""


def instead_of(directive: str) -> str:
    """What to write instead of a directive."""
    return INSTEAD.get(directive, _HOOK)
