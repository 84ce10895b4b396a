"""nginx twice: as a contender, and as the endpoints behind all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.bench.peers.configs import features, grpc
from tests.bench.peers.configs.setup import CONNECTIONS, ECHO_PATH, Setup

SMALL_BODY = "x" * 107
"""What most requests are answered with."""

# A connection is never ended for having served enough: that is a case of its own.
_MANY = 100_000_000

_FRAME = """{user}daemon off;
worker_processes {workers};
worker_rlimit_nofile {files};
pid {place}/nginx.pid;
error_log {place}/error.log crit;
events {{ worker_connections {files}; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    open_file_cache max=100;
    keepalive_timeout 75s;
    keepalive_requests {many};
    client_max_body_size 8m;
    client_body_temp_path {place}/body;
    proxy_temp_path {place}/proxy;
    fastcgi_temp_path {place}/fastcgi;
    uwsgi_temp_path {place}/uwsgi;
    scgi_temp_path {place}/scgi;
{content}}}
"""

_PROXY = """    proxy_http_version 1.1;
    proxy_request_buffering off;
    proxy_max_temp_file_size 0;
    upstream app {{
{members}        keepalive 64;
        keepalive_requests {many};
    }}
    upstream calls {{
{grpc_members}        keepalive 64;
        keepalive_requests {many};
    }}
    server {{
        listen 127.0.0.1:{setup.http_port} backlog=4096;
        listen 127.0.0.1:{setup.https_port} ssl http2 backlog=4096;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_certificate {setup.certificate};
        ssl_certificate_key {setup.key};
        location / {{
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
            proxy_pass http://app;
        }}
        location {grpc} {{
            grpc_set_header Host $http_host;
            grpc_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            grpc_set_header X-Forwarded-Proto $scheme;
            grpc_pass grpc://calls;
        }}
        location {echo} {{
            proxy_set_header Connection "upgrade";
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Host $http_host;
            proxy_pass http://127.0.0.1:{setup.echo_port};
        }}
    }}
"""

# An upload is read to its end before it is answered: the request that is passed on has no body and waits for it.
# A call of gRPC is read to its end too, by `mirror`: an answer that overtakes its call is followed by a frame of a
# stream that is over, for which nginx as a proxy gives the endpoint up. The answer is a file, which a POST gets as the
# page of the error 405. Each message is a DATA frame of its own; with sendfile, every frame would be a system call.
_ENDPOINTS = """    client_body_buffer_size 2m;
    server {{
        listen unix:{place}/done;
        return 200 "{small}";
    }}
    server {{
{listens}        root {place}/files;
        location / {{ return 200 "{small}"; }}
        location /files/ {{ alias {place}/files/; }}
        location /upload {{
            proxy_pass_request_body off;
            proxy_set_header Content-Length "";
            proxy_pass http://unix:{place}/done;
        }}
    }}
    server {{
{grpc_listens}        root {place}/files;
        location {grpc} {{
            client_body_buffer_size 16k;
            mirror /read;
            error_page 405 =200 /answers$uri;
        }}
        location = /read {{ return 204; }}
        location /answers/ {{
            internal;
            alias {place}/files/;
            default_type application/grpc;
            add_trailer grpc-status 0 always;
            sendfile off;
            output_buffers 1 32k;
            http2_chunk_size {frame};
        }}
    }}
"""


def proxy(setup: Setup) -> str:
    """The contender: one worker; nothing is written to disk on the way."""
    content = _PROXY.format(
        members=_members(setup.endpoint_ports),
        grpc_members=_members(setup.grpc_ports),
        many=_MANY,
        setup=setup,
        echo=ECHO_PATH,
        grpc=grpc.SERVICE_PATH,
    )
    return _framed(setup.place, content + features.servers(setup), workers=1, is_root=setup.is_root)


def endpoints(place: Path, ports: Sequence[int], *, workers: int, is_root: bool, grpc_ports: Sequence[int]) -> str:
    """One program on all `ports`: `/` is 107 bytes, `/files/` what lies there, `/upload` takes bodies.

    On `grpc_ports`, which speak HTTP/2, it answers calls with the files of `grpc.ANSWERS`.
    """
    content = _ENDPOINTS.format(
        place=place,
        small=SMALL_BODY,
        listens=_listens(ports, ""),
        grpc_listens=_listens(grpc_ports, " http2"),
        grpc=grpc.SERVICE_PATH,
        frame=len(grpc.FRAME),
    )
    return _framed(place, content, workers=workers, is_root=is_root)


def _members(ports: Sequence[int]) -> str:
    return "".join(f"        server 127.0.0.1:{port};\n" for port in ports)


def _listens(ports: Sequence[int], protocol: str) -> str:
    return "".join(f"        listen 127.0.0.1:{port}{protocol} backlog=4096;\n" for port in ports)


def _framed(place: Path, content: str, *, workers: int, is_root: bool) -> str:
    return _FRAME.format(
        user="user root;\n" if is_root else "",
        place=place,
        workers=workers,
        files=CONNECTIONS * 2,
        many=_MANY,
        content=content,
    )
