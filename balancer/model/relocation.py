"""Edits of Location, Refresh and Set-Cookie of endpoints in the model, one struct for each kind."""

from __future__ import annotations

import msgspec

from balancer.model.redirects import UrlForm


class RewriteLocation(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="rewrite_location"):
    """Replaces the beginning `pattern` of Location and of the URL in Refresh (proxy-redirect-from, -to).

    With `~` before it, `pattern` is a regular expression whose match replaces the whole value; `~*` ignores case. Both
    texts may hold variables. A path that comes out is sent in `form`.
    """

    pattern: str
    replacement: str
    form: UrlForm = UrlForm()


class RewriteCookies(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="rewrite_cookies"):
    """Replaces Domain and Path of cookies (proxy-cookie-domain, proxy-cookie-path): pattern and replacement, or None.

    A domain is compared as a whole and without regard to case. Of a path the beginning is replaced. Patterns with `~`
    are as in `RewriteLocation`.
    """

    domain: tuple[str, str] | None = None
    path: tuple[str, str] | None = None
