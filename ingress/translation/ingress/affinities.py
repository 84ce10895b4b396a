"""Makes the affinity of a route from the options of its Ingress.

Decides the path of the cookie. Does not know how options are read, nor backends.
"""

from __future__ import annotations

from urllib.parse import quote as percent_encoded

import msgspec

from balancer.model.policies import Affinity
from ingress.settings.table.affinity import AffinityOptions
from ingress.translation.beginnings import beginning

# Characters that a path may hold unchanged in a Set-Cookie (RFC 3986 3.3 without `;` and `,`).
_PATH_SAFE = "/:@!$&'()*+=~-._%"


# What may follow the literal text of an expression without a request going on within the same path element.
_ELEMENT_ENDS = ("/", "(/|$)", "(?:/|$)", "(/.*)", "$")


def affinity_of(options: AffinityOptions, path: str, *, is_expression: bool = False) -> Affinity | None:
    """The affinity of a route at `path`; None without the annotation `affinity`.

    The cookie holds for the path of the Ingress unless another is named (ingress-nginx `session-cookie-path`). For an
    expression the cookie holds for the whole path elements with which every match begins. ingress-nginx writes the
    expression into the cookie, so that no browser sends that cookie back.
    """
    if not options.by_cookie:
        return None
    if options.cookie_path is not None:
        return msgspec.structs.replace(options.cookie, path=options.cookie_path)
    whole = literal_elements(path) if is_expression else path
    return msgspec.structs.replace(options.cookie, path=percent_encoded(whole, safe=_PATH_SAFE))


def literal_elements(expression: str) -> str:
    """The whole path elements, in their case, with which every path begins that `expression` matches; at least `/`."""
    text = expression[: len(beginning(expression))]
    rest = expression[len(text) :]
    if not rest or rest.startswith(_ELEMENT_ENDS):
        return text
    return text[: text.rindex("/") + 1]
