"""The command `zonal explain`: reads its options and runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ingress.cli import cluster_options
from ingress.cli.flags import BadInput, Command, finish, option, reference, section, switch
from ingress.cli.readings import expected_status

FOLDER_SECTION = "How a folder is read, as in zonal run"
"""The options of `zonal explain` that count only for a folder."""

_FILE = click.Path(path_type=Path)
_PLACES = "FILE|FOLDER"
_EXPECT_STATUS = "Exit 1 unless zonal answers with this status; endpoint: unless an endpoint answers."


@click.command(cls=Command)
@click.argument("url")
@section(
    "Question",
    option("--header", "-H", multiple=True, help="A header field of the request (repeatable).", metavar="NAME:VALUE"),
    option(
        "--client",
        default="",
        help="Address of the client, for source ranges and upstream-hash-by.",
        metavar="ADDRESS",
    ),
    option("--source", type=_FILE, help="Ask this folder of manifests, or a dump.", metavar="DIR"),
    option("--admin", help="Ask the running ingress with this admin port.", metavar="URL"),
    option("--hooks", type=_FILE, multiple=True, help="Run these hooks, for a folder (repeatable).", metavar=_PLACES),
)
@section(
    "Answer",
    option("--output", "-o", type=click.Choice(["text", "json"]), default="text", help="For people or for tools."),
    switch("--verbose", help="List each endpoint with its pod, conditions and health."),
    option("--expect-status", callback=expected_status, help=_EXPECT_STATUS, metavar="CODE|endpoint"),
    option("--expect-zone", help="Exit 1 unless every endpoint of the pool is in this zone."),
    option("--expect-service", help="Exit 1 unless this Service serves.", metavar="NS/NAME"),
)
@section(
    FOLDER_SECTION,
    cluster_options.ZONE,
    cluster_options.NODE_NAME,
    cluster_options.POD_ZONE,
    cluster_options.CONFIGMAP,
    cluster_options.INGRESS_CLASS,
    cluster_options.CONTROLLER_CLASS,
    cluster_options.WATCH_NAMESPACE,
    cluster_options.WITHOUT_CLASS,
    option("--publish-service", help="The Service of the replicas themselves.", metavar="NS/NAME"),
    cluster_options.DEFAULT_BACKEND,
    cluster_options.LOCAL_ENDPOINTS,
    cluster_options.EXTERNAL_NAME,
    cluster_options.PASSTHROUGH,
    cluster_options.TCP_SERVICES,
    cluster_options.UDP_SERVICES,
    cluster_options.ONE_NAMESPACE,
    option("--gateway-ports", default="", help="Ports for Gateways: PORT=BOUND,...; none by default."),
)
def explain(**given: Any) -> None:
    """Say where a request for URL goes, and why, step by step."""
    from ingress.explain.command import CannotExplain, ExplainOptions, run_explain

    context = click.get_current_context()
    spoken = click.core.ParameterSource.COMMANDLINE
    if given["source"] and given["admin"]:
        both = all(context.get_parameter_source(name) is spoken for name in ("source", "admin"))
        if both:
            raise BadInput("give --source or --admin, not both")
        # The variables of a serving pod may be set, too: what was typed counts.
        given["source" if context.get_parameter_source("admin") is spoken else "admin"] = None
    if given["admin"] and context.get_parameter_source("hooks") is spoken:
        raise BadInput("--hooks is for --source: a serving ingress runs no hook for an explanation")
    options = ExplainOptions(
        url=given["url"],
        fields=given["header"],
        client=given["client"],
        source=given["source"],
        admin=given["admin"] or None,
        context=cluster_options.context_of(given),
        as_json=given["output"] == "json",
        verbose=given["verbose"],
        expect_status=given["expect_status"],
        expect_zone=given["expect_zone"] or None,
        expect_service=reference("--expect-service", given["expect_service"]),
        hooks=given["hooks"],
    )
    finish(run_explain, options, refusal=CannotExplain)
