"""What routes have asked of backends is copied, put together, and told by Service."""

from __future__ import annotations

from balancer.model.endpoints import Backend, BackendKey
from ingress.objects.kinds import ServicePort
from ingress.translation.services.collected import Collected


def collected(*ports: int, service: str = "cart") -> Collected:
    found = Collected()
    for port in ports:
        key = BackendKey(f"shop/{service}:{port}")
        found.made[key] = Backend(key, "shop", service, str(port))
        found.ports[key] = ServicePort(port)
        found.slice_findings[key] = ()
    found.looked_for.add(("shop", service))
    return found


def test_a_copy_does_not_learn_what_comes_later() -> None:
    whole = collected(80)
    before = whole.copy()
    whole.add(collected(81, service="other"))
    assert before.looked_for == {("shop", "cart")}
    assert [*before.made] == ["shop/cart:80"]
    assert whole.looked_for == {("shop", "cart"), ("shop", "other")}


def test_the_order_in_which_was_asked_does_not_show() -> None:
    one, other = collected(80), collected(443)
    one.add(collected(443))
    other.add(collected(80))
    assert one.by_service() == other.by_service() == {("shop", "cart"): ["shop/cart:443", "shop/cart:80"]}
