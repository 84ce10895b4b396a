"""Settling again only what may differ gives what settling everything gives, and leaves all other hosts as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.objects.kinds import Ingress, IngressTls
from ingress.settings.context import TranslationContext
from ingress.sources.events import Removed, Upserted
from ingress.translation.assembly import Memories, Translation, translate
from tests.unit.ingress.cluster import ingress, ingress_class, inventory, nginx, path, rule, service

_CONTEXT = TranslationContext()
_HOSTS = ("a.test", "www.a.test", "b.test", "*.test", "")
_PATHS = ("/", "/a", "/a/", "/b")
_SAID: tuple[dict[str, str], ...] = (
    {},
    nginx(server_alias="b.test,also.test"),
    nginx(from_to_www_redirect="true"),
    nginx(canary="true", canary_weight="7"),
    nginx(use_regex="true"),
    nginx(rewrite_target="/x"),
    nginx(app_root="/app"),
    nginx(force_ssl_redirect="true"),
    nginx(auth_tls_secret="shop/none"),
    nginx(server_snippet="add_header X-One 1;"),
)
_INGRESSES = st.builds(
    lambda name, host, text, said, tls: ingress(
        f"web-{name}",
        rule(host, path(text)),
        annotations=_SAID[said],
        created=f"2024-01-0{1 + name}T00:00:00Z",
        tls=[IngressTls((tls,), "secret")] if tls else (),
    ),
    st.integers(0, 5),
    st.sampled_from(_HOSTS),
    st.sampled_from(_PATHS),
    st.integers(0, len(_SAID) - 1),
    st.sampled_from(("", "", "a.test", "*.test")),
)


@pytest.mark.large
@given(st.lists(st.tuples(_INGRESSES, st.booleans()), min_size=2, max_size=25))
def test_any_changes_lead_where_settling_everything_leads(steps: list[tuple[Ingress, bool]]) -> None:
    known, memories = inventory(ingress_class(), service()), Memories()
    for changed, goes in steps:
        namespace, name = changed.metadata.namespace, changed.metadata.name
        known.apply(Removed(changed.kind, namespace, name) if goes else Upserted(changed))
        assert translate(known, _CONTEXT, memories=memories) == translate(known, _CONTEXT)


class Cluster:
    """Translates again after each change."""

    def __init__(self, *ingresses: Ingress) -> None:
        self.known = inventory(ingress_class(), service(), *ingresses)
        self.memories = Memories()
        self.translate()

    def translate(self) -> Translation:
        return translate(self.known, _CONTEXT, memories=self.memories)

    def settled(self) -> dict[str, int]:
        """Which object each settled host is."""
        return {host.name: id(host) for host in self.memories.settlement._hosts}

    def change(self, changed: Ingress) -> set[str]:
        """The hosts that are settled again."""
        before = self.settled()
        kept = self.memories.settlement._hosts  # so that no id is used again
        self.known.apply(Upserted(changed))
        self.translate()
        assert len(kept) == len(before)
        return {name for name, host in self.settled().items() if before.get(name) != host}


def conflicts(cluster: Cluster) -> set[str]:
    """The names of the Ingresses whose claims are taken."""
    return {each.name for each in cluster.translate().findings if each.reason == "Conflict"}


def test_a_changed_ingress_settles_its_own_hosts() -> None:
    cluster = Cluster(*(ingress(f"web-{number}", rule(f"h{number}.test")) for number in range(4)))
    assert cluster.change(ingress("web-2", rule("h2.test", path("/new")))) == {"h2.test"}


def test_those_that_share_a_host_are_settled_with_it() -> None:
    cluster = Cluster(
        ingress("first", rule("one.test"), rule("two.test")),
        ingress("second", rule("two.test", path("/b")), rule("three.test")),
        ingress("third", rule("other.test")),
    )
    assert cluster.change(ingress("first", rule("one.test", path("/n")), rule("two.test"))) == {
        "one.test",
        "two.test",
        "three.test",
    }


def test_other_names_settle_everything() -> None:
    cluster = Cluster(ingress("web-1", rule("one.test")), ingress("web-2", rule("two.test")))
    assert cluster.change(ingress("web-1", rule("new.test"))) == {"new.test", "two.test"}


def test_nothing_is_settled_where_nothing_has_changed() -> None:
    cluster = Cluster(ingress("web-1", rule("one.test")), ingress("web-2", rule("two.test")))
    before = cluster.settled()
    cluster.translate()
    assert cluster.settled() == before


def test_a_conflict_goes_with_the_change_that_ends_it() -> None:
    cluster = Cluster(
        ingress("old", rule("one.test")),
        ingress("new", rule("one.test"), created="2025-01-01T00:00:00Z"),
        ingress("far", rule("two.test")),
        ingress("farther", rule("two.test"), created="2025-01-01T00:00:00Z"),
    )
    assert conflicts(cluster) == {"farther", "new"}
    cluster.change(ingress("new", rule("one.test", path("/own")), created="2025-01-01T00:00:00Z"))
    assert conflicts(cluster) == {"farther"}
