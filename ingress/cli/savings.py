"""The command `zonal savings`: what zonal will save, and what it has saved.

Reads its options. Does not know how anything is counted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ingress.cli.flags import BadInput, Command, finish, given_names, option, reference, section

_FILE = click.Path(path_type=Path)
_CONFIGMAP = "ingress-nginx/ingress-nginx-controller"
_CLOUDS = ("aws", "gcp", "azure")
_METRICS = "A page of /metrics of a pod of ingress-nginx (repeatable, one for each pod)."


@click.command(cls=Command)
@section(
    "Where the counters are",
    option("--prometheus", default="", help="A server with the HTTP API of Prometheus.", metavar="URL"),
    option("--header", "-H", multiple=True, help="A field of each question (repeatable).", metavar="NAME:VALUE"),
    option("--metrics", type=_FILE, multiple=True, help=_METRICS, metavar="FILE"),
    option("--hours", type=click.FloatRange(min=0.001), help="For how long those pages have counted."),
    option("--days", type=click.FloatRange(min=0.01, max=400), default=30.0, help="Days of ingress-nginx's metrics."),
)
@section(
    "Before the move",
    option("--source", type=_FILE, help="A folder of manifests, or a dump: estimate for it.", metavar="DIR"),
    option("--ingress-class", default="nginx", help="The class of the Ingresses."),
    option("--configmap", default=_CONFIGMAP, help="The ConfigMap of the other controller.", metavar="NS/NAME"),
    option("--zone", multiple=True, help="The zone of a pod of ingress-nginx (repeatable); default: all, evenly."),
    option("--cloud", type=click.Choice(_CLOUDS), help="Whose price list and bill."),
    option("--price", type=click.FloatRange(min=0), help="Dollars for a gigabyte between two zones."),
)
@section(
    "After the move",
    option("--months", type=click.IntRange(1, 60), default=3, help="Months of the calendar, the present one included."),
    option("--by", type=click.Choice(["namespace", "service"]), default="namespace", help="One line for each."),
)
@section(
    "Answer",
    option("--output", "-o", type=click.Choice(["text", "json"]), default="text", help="For people or for tools."),
)
def savings(**given: Any) -> None:
    """Say what traffic between zones costs, and what zonal saves.

    With --source: what it would save, from the counters of ingress-nginx. Without: what it has saved, as CSV.
    """
    from ingress.migration.command import CannotCheck
    from ingress.migration.savings.command import SavingsOptions, run_savings
    from ingress.settings.context import TranslationContext

    if given["prometheus"] and not given["prometheus"].startswith(("http://", "https://")):
        raise BadInput("--prometheus takes the URL of a server, such as http://127.0.0.1:9090")
    if given["source"] is not None and bool(given["prometheus"]) is bool(given["metrics"]):
        raise BadInput("give --prometheus URL or --metrics FILE")
    options = SavingsOptions(
        prometheus=given["prometheus"],
        fields=given["header"],
        metrics=given["metrics"],
        source=given["source"],
        context=TranslationContext(
            ingress_class=given["ingress_class"], configmap=reference("--configmap", given["configmap"]) or ""
        ),
        zones=given["zone"],
        cloud=given["cloud"] or "",
        price=given["price"],
        days=given["days"],
        hours=given["hours"],
        months=given["months"],
        by_service=given["by"] == "service",
        form=given["output"],
        given=given_names("ingress_class", "configmap"),
    )
    finish(run_savings, options, refusal=CannotCheck)
