"""Makes the affinity of a route from the options of its Ingress.

Decides the path of the cookie. Does not know how options are read, nor backends.
"""

from __future__ import annotations

from urllib.parse import quote as percent_encoded

import msgspec

from balancer.model.policies import Affinity
from ingress.settings.table.affinity import AffinityOptions

# Characters that a path may hold unchanged in a Set-Cookie (RFC 3986 3.3 without `;` and `,`).
_PATH_SAFE = "/:@!$&'()*+=~-._%"


def affinity_of(options: AffinityOptions, path: str) -> Affinity | None:
    """The affinity of a route at `path`; None without the annotation `affinity`.

    The cookie holds for the path of the Ingress unless another is named (ingress-nginx `session-cookie-path`).
    """
    if not options.by_cookie:
        return None
    own_path = options.cookie_path
    return msgspec.structs.replace(
        options.cookie, path=percent_encoded(path, safe=_PATH_SAFE) if own_path is None else own_path
    )
