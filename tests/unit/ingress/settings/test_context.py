"""The context's defaults are those of the command line."""

from __future__ import annotations

from ingress.settings.context import TranslationContext


def test_the_defaults_are_the_documented_ones() -> None:
    context = TranslationContext()
    assert context.controller_class == "zonal-ingress.io/controller"
    assert context.ingress_class == "zonal"
    assert context.configmap == "zonal/zonal"
    assert context.watch_namespaces == ()
    assert not context.watch_ingress_without_class
    assert not context.allow_local_endpoints


def test_our_own_service_is_the_published_one() -> None:
    assert TranslationContext(publish_service="zonal/web").own_service == ("zonal", "web")
    assert TranslationContext().own_service is None
