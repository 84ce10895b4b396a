"""The commands for people who leave another controller: `zonal check`, `zonal migrate` and `zonal rehearse`.

Reads their options. Does not know what a verdict means.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ingress.cli.flags import BadInput, Command, finish, given_names, option, reference, section, switch
from ingress.objects.names import SUBDOMAIN

_FILE = click.Path(path_type=Path)
_CONFIGMAP = "ingress-nginx/ingress-nginx-controller"
_VERDICTS = ("works-differently", "degraded", "unprotected", "misrouted", "closed", "never")
_FAIL_ON = "Exit 1 if a verdict is this or more harmful."
_PASSED = "Pass TLS where an Ingress says so, as an ingress-nginx in the dump with this argument does."
_EXTERNAL = "Serve Services of type ExternalName, on public addresses only."


@click.command(cls=Command)
@click.argument("source", type=_FILE, required=False, metavar="[DIR]")
@section(
    "What is checked",
    option("--kubeconfig", type=_FILE, help="Read this cluster once instead of a folder or dump."),
    option("--from", "controller", type=click.Choice(["ingress-nginx"]), default="ingress-nginx", help="Who serves."),
    option("--ingress-class", default="nginx", help="The class whose Ingresses are checked."),
    option("--configmap", default=_CONFIGMAP, help="The ConfigMap of the other controller.", metavar="NS/NAME"),
    option("--watch-namespace", multiple=True, help="Check only these namespaces (repeatable); default: all."),
    switch("--watch-ingress-without-class", help="Check Ingresses that name no class, too."),
)
@section(
    "Answer",
    option("--output", "-o", type=click.Choice(["text", "json", "sarif", "junit"]), default="text", help="For whom."),
    option("--fail-on", type=click.Choice(_VERDICTS), default="unprotected", help=_FAIL_ON),
    option("--baseline", type=_FILE, help="The JSON of an earlier check: only what is worse fails.", metavar="FILE"),
)
@section(
    "How zonal will be started",
    option("--default-backend-service", help="Service for requests that no rule matches.", metavar="NS/NAME"),
    switch("--allow-local-endpoints", help="Allow loopback and link-local endpoints (demo, tests)."),
    switch("--allow-external-name", help=_EXTERNAL),
    switch("--enable-ssl-passthrough", help=_PASSED),
)
def check(**given: Any) -> None:
    """Say what will become of the Ingresses of another controller, before they move.

    DIR is a folder of manifests, or a file that kubectl get -A -o yaml has written.
    """
    from ingress.migration.command import CannotCheck, CheckOptions, run_check
    from ingress.migration.verdicts import IngressOutcome
    from ingress.settings.context import TranslationContext

    if given["source"] is not None and given["kubeconfig"] is not None:
        if click.get_current_context().get_parameter_source("kubeconfig") is click.core.ParameterSource.COMMANDLINE:
            raise BadInput("give DIR or --kubeconfig, not both")
        given["kubeconfig"] = None
    fail_on = given["fail_on"].replace("-", " ")
    options = CheckOptions(
        source=given["source"],
        kubeconfig=given["kubeconfig"],
        context=TranslationContext(
            ingress_class=given["ingress_class"],
            watch_ingress_without_class=given["watch_ingress_without_class"],
            configmap=reference("--configmap", given["configmap"]) or "",
            watch_namespaces=tuple(given["watch_namespace"]),
            default_backend_service=reference("--default-backend-service", given["default_backend_service"]),
            allow_local_endpoints=given["allow_local_endpoints"],
            allow_external_name=given["allow_external_name"],
            enable_ssl_passthrough=given["enable_ssl_passthrough"],
        ),
        form=given["output"],
        fail_on=None if fail_on == "never" else IngressOutcome(fail_on),
        baseline=given["baseline"],
        given=given_names("ingress_class", "configmap", "default_backend_service"),
    )
    finish(run_check, options, refusal=CannotCheck)


@click.command(cls=Command)
@click.argument("source", type=_FILE, metavar="DIR")
@option("--output", "-o", "output", type=_FILE, help="A new folder for the manifests.", metavar="OUT")
@option("--to", "target", type=click.Choice(["ingress", "gateway"]), default="ingress", help="What is written.")
@option("--gateway", default="zonal/zonal", help="With --to gateway: the new Gateway.", metavar="NS/NAME")
@switch("--in-place", help="Change the class in the files of DIR, and nothing else.")
@switch("--diff", help="Print what would be written, as a diff, and write nothing.")
@option("--from", "controller", type=click.Choice(["ingress-nginx"]), default="ingress-nginx", help="Who serves.")
@option("--ingress-class", default="nginx", help="The class whose Ingresses are moved.")
@option("--configmap", default=_CONFIGMAP, help="The ConfigMap of the other controller.", metavar="NS/NAME")
@option("--to-class", default="zonal", help="The class of the new Ingresses.")
@option("--to-configmap", default="zonal/zonal", help="The ConfigMap that zonal reads.", metavar="NS/NAME")
@option("--suffix", default="zonal", help="What the names of the new Ingresses end in.")
def migrate(**given: Any) -> None:
    """Write Ingresses of zonal's class, or objects of Gateway API, beside Ingresses of another controller.

    DIR is a folder of manifests, or a file that kubectl get -A -o yaml has written. Nothing in it is changed without
    --in-place.
    """
    from ingress.migration.command import CannotCheck
    from ingress.migration.gateway.command import run_move
    from ingress.migration.writing import MigrateOptions, run_migrate
    from ingress.settings.context import TranslationContext

    if not SUBDOMAIN.fullmatch(f"a-{given['suffix']}"):
        raise BadInput("--suffix takes lower case letters, digits, - and .")
    if given["diff"] and not given["in_place"]:
        given["output"] = given["output"] or Path("moved")  # nothing is written there
    if given["in_place"] is (given["output"] is not None):
        raise BadInput("give --output OUT, a new folder, or --in-place")
    options = MigrateOptions(
        source=given["source"],
        output=given["output"],
        context=TranslationContext(
            ingress_class=given["ingress_class"], configmap=reference("--configmap", given["configmap"]) or ""
        ),
        config_map=reference("--to-configmap", given["to_configmap"]) or "",
        class_name=given["to_class"],
        suffix=given["suffix"],
        shows_diff=given["diff"],
        gateway=reference("--gateway", given["gateway"]) or "",
        given=given_names("ingress_class", "configmap"),
    )
    try:
        (run_move if given["target"] == "gateway" else run_migrate)(options)
    except CannotCheck as error:
        raise BadInput(str(error)) from None


@click.command(cls=Command)
@click.argument("log", type=_FILE, metavar="LOG")
@option("--source", type=_FILE, required=True, help="A folder of manifests, or a dump.", metavar="DIR")
@option("--format", "line_format", default="", help="The log_format; default: that of the ConfigMap.", metavar="TEXT")
@option("--ingress-class", default="nginx", help="The class whose Ingresses are rehearsed.")
@option("--configmap", default=_CONFIGMAP, help="The ConfigMap of the other controller.", metavar="NS/NAME")
@option("--default-backend-service", help="Service for requests that no rule matches.", metavar="NS/NAME")
@option("--zone", multiple=True, help="A zone of ingress-nginx's pods (repeatable); default: all.")
@option("--list", "listed", type=_FILE, help="Write every request that would differ to a new file.", metavar="FILE")
@option("--output", "-o", type=click.Choice(["text", "json"]), default="text", help="For whom.")
def rehearse(**given: Any) -> None:
    """Say how the requests of an access log of ingress-nginx would be answered.

    LOG is a file, also with gzip, or - for standard input.
    """
    from ingress.migration.command import CannotCheck
    from ingress.migration.rehearsal.command import RehearseOptions, run_rehearse
    from ingress.settings.context import TranslationContext

    options = RehearseOptions(
        log=given["log"],
        source=given["source"],
        context=TranslationContext(
            ingress_class=given["ingress_class"],
            configmap=reference("--configmap", given["configmap"]) or "",
            default_backend_service=reference("--default-backend-service", given["default_backend_service"]),
        ),
        format=given["line_format"],
        zones=tuple(given["zone"]),
        listed=given["listed"],
        form=given["output"],
        given=given_names("ingress_class", "configmap", "default_backend_service"),
    )
    finish(run_rehearse, options, refusal=CannotCheck)
