"""An auth service in the model, which is asked about each request of a route."""

from __future__ import annotations

from typing import Annotated

import msgspec

from balancer.model.endpoints import BackendKey
from balancer.model.secrecy import SECRET


class ExternalAuth(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="external_auth"):
    """Asks an auth service whether a request may pass (ingress-nginx: auth-url and its kin).

    `url`, `signin`, `request_redirect`, `cache_key` and the values of `added_fields` are text with variables. `url` has
    the form `http(s)://AUTHORITY/...`, and only `$host` may stand in its authority. `method` empty: GET.

    `signin`: where a client goes whom the service does not know; empty: the client gets the 401 itself.
    `signin_param` is the parameter of that URL that says where the client came from.

    `response_fields` are names of fields that the endpoint gets from the service's answer and never from the client.
    `added_fields` are names and values that the service gets. `request_redirect` empty: the service is told the target
    of the request.

    Without a `cache_key` nothing is cached. `cache_seconds` are pairs of status and seconds, and the first pair of a
    status counts. `cache_scope` keeps apart what different paths cache.

    `always_sets_cookie`: cookies of the service also come with errors of the endpoint. `verify`: the certificate of an
    https service is verified. `allow_local`: the service may have any address. `tenant` is the namespace whose
    requests are judged.
    """

    url: str
    method: str = ""
    signin: str = ""
    signin_param: str = "rd"
    response_fields: tuple[str, ...] = ()
    request_redirect: str = ""
    added_fields: Annotated[tuple[tuple[str, str], ...], SECRET] = ()
    cache_key: str = ""
    cache_seconds: tuple[tuple[int, float], ...] = ()
    cache_scope: str = ""
    always_sets_cookie: bool = False
    verify: bool = False
    allow_local: bool = False
    tenant: str = ""


class BackendAuth(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="backend_auth"):
    """Asks an endpoint of another backend whether a request may pass (Gateway API: HTTPExternalAuthFilter).

    `backend` None: nobody can be asked, so no request passes. `path` stands before the path of the request that the
    service gets. `request_fields` (lower case) are the fields of the client that the service gets beside
    Authorization. `response_fields` are those of the answer that the endpoint gets, and never from the client; empty:
    all of them. `tenant` is as in `ExternalAuth`.
    """

    backend: BackendKey | None = None
    path: str = ""
    request_fields: tuple[str, ...] = ()
    response_fields: tuple[str, ...] = ()
    tenant: str = ""
