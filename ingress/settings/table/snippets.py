"""Options whose values are lines of nginx's configuration.

Responsible for the texts alone. It must not know what a line means, nor which lines are carried out.
"""

from __future__ import annotations

import msgspec

from ingress.findings import Severity
from ingress.settings.snippets.levels import Level
from ingress.settings.table.option import cluster_option, ingress_option, route_option
from ingress.settings.unsupported import EMPTY, Loss, closing

SNIPPET_TEXT = "redirects, access rules and header fields of the snippet are missing"
"""What it means that a snippet is not carried out, as a clause."""

SNIPPET_LOSS = closing(Severity.UNPROTECTED, SNIPPET_TEXT, EMPTY)
"""What is lost with a snippet of an annotation, which closes the paths of its Ingress."""

_KEY_LOSS = Loss(Severity.UNPROTECTED, SNIPPET_TEXT, nothing=EMPTY)
_LINES = (
    "lines of nginx's configuration, of which the ones in [snippets](migrate.md#snippets) are carried out; a snippet"
    " with any other line is not carried out"
)


class SnippetTexts(msgspec.Struct, frozen=True):
    """The snippets of an Ingress or of the ConfigMap."""

    configuration: str = ""
    server: str = ""
    location: str = ""
    http: str = ""


class ClusterLevels(msgspec.Struct, frozen=True):
    """What the snippets of the ConfigMap say, as far as they are carried out.

    `underscores`: requests have fields whose names have `_`, which variables read as those with `-`.
    """

    http: Level = Level()
    server: Level = Level()
    location: Level = Level()
    underscores: bool = False

    @property
    def says_nothing(self) -> bool:
        """Whether no path gets anything from them."""
        return self.http.is_empty and self.server.is_empty and self.location.is_empty


SNIPPET_OPTIONS = (
    ingress_option(
        name="configuration-snippet",
        fills=(SnippetTexts, "configuration"),
        grammar=str,
        doc=_LINES + " and closes the paths of the Ingress. Counts only with `allow-snippet-annotations` and"
        " `annotations-risk-level: Critical`",
        if_invalid=SNIPPET_LOSS,
    ),
    route_option(
        name="server-snippet",
        fills=(SnippetTexts, "server"),
        grammar=str,
        doc=_LINES + ", and is a finding. Counts for every host",
        doc_on_ingress="counts for the hosts of the Ingress, of the oldest one that has such an annotation; otherwise"
        " as `configuration-snippet`",
        if_invalid=SNIPPET_LOSS,
    ),
    cluster_option(
        name="location-snippet",
        fills=(SnippetTexts, "location"),
        grammar=str,
        doc=_LINES + ", and is a finding. Counts for every path",
        if_invalid=_KEY_LOSS,
    ),
    cluster_option(
        name="http-snippet",
        fills=(SnippetTexts, "http"),
        grammar=str,
        doc=_LINES + ", and is a finding. Counts for every path",
        if_invalid=_KEY_LOSS,
    ),
)
