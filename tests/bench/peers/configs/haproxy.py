"""HAProxy's configuration."""

from __future__ import annotations

from tests.bench.peers.configs.grpc import SERVICE_PATH
from tests.bench.peers.configs.setup import CONNECTIONS, ECHO_PATH, Setup

_TEXT = """global
    nbthread 1
    maxconn {connections}

defaults
    mode http
    option http-keep-alive
    option forwardfor
    http-reuse always
    timeout connect 5s
    timeout client 75s
    timeout server 60s
    timeout http-keep-alive 75s
    timeout tunnel 1h

frontend all
    bind 127.0.0.1:{setup.http_port} backlog 4096
    bind 127.0.0.1:{setup.https_port} backlog 4096 ssl crt {setup.both} alpn h2,http/1.1
    http-request set-header X-Forwarded-Proto https if {{ ssl_fc }}
    http-request set-header X-Forwarded-Proto http if !{{ ssl_fc }}
    use_backend echo if {{ path_beg {echo} }}
    use_backend calls if {{ path_beg {grpc} }}
    default_backend app

backend echo
    server echo 127.0.0.1:{setup.echo_port}

backend calls
    balance roundrobin
{grpc_members}
backend app
    balance roundrobin
{members}"""


def proxy(setup: Setup) -> str:
    """One thread; connections to endpoints are shared as freely as it can."""
    return _TEXT.format(
        setup=setup,
        members="".join(f"    server app{port} 127.0.0.1:{port}\n" for port in setup.endpoint_ports),
        grpc_members="".join(f"    server calls{port} 127.0.0.1:{port} proto h2\n" for port in setup.grpc_ports),
        connections=CONNECTIONS,
        echo=ECHO_PATH,
        grpc=SERVICE_PATH,
    )
