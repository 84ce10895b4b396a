"""Changed Secrets are judged in turns by namespace, and seen as they were until then."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ingress.objects.kinds import IngressTls, KubernetesObject, Metadata, Secret
from ingress.settings.context import TranslationContext
from ingress.sources.contract import Wanted
from ingress.translation.assembly import Memories, Translation, translate
from ingress.translation.secrets.certificates import CertificateShelf
from ingress.translation.secrets.secret_turns import SecretTurns, first_in_turns
from tests.unit.ingress.cluster import config_map, ingress, ingress_class, inventory, rule, service, tls_secret
from tests.unit.ingress.translation.secrets.test_certificates import OTHER, OTHER_KEY, SHOP, SHOP_KEY

SHOP_TLS = (IngressTls(("shop.test",), "t"),)
INGRESS = ingress("web", rule("shop.test"), tls=SHOP_TLS)


def secrets(namespace: str, count: int, *, text: str = "new") -> list[Secret]:
    return [Secret(Metadata(f"t{number:03}", namespace), {"tls.key": text}) for number in range(count)]


def keys(objects: list[Secret]) -> set[tuple[str, str]]:
    return {(each.metadata.namespace, each.metadata.name) for each in objects}


def test_a_modest_namespace_is_judged_at_once_beside_thousands_of_keys() -> None:
    greedy, modest = secrets("greedy", 5000), secrets("modest", 3)
    known, turns = inventory(*greedy, *modest), SecretTurns()
    held = turns.hold_back(keys(greedy) | keys(modest), known, most=256)
    assert len(held) == 5003 - 256
    assert {namespace for namespace, _ in held} == {"greedy"}
    assert set(held.values()) == {None}


def test_what_was_seen_is_judged_and_the_rest_comes_next() -> None:
    greedy = secrets("greedy", 10)
    known, turns, rounds = inventory(*greedy), SecretTurns(), 0
    while held := turns.hold_back(keys(greedy), known, most=4):
        turns.saw(keys(greedy), known.holding_back(held))
        rounds += 1
    assert rounds == 2


def test_a_changed_secret_is_seen_as_it_was_and_one_that_is_gone_is_gone() -> None:
    before, after = secrets("shop", 4, text="old"), secrets("shop", 3)
    turns = SecretTurns()
    turns.saw(keys(before), inventory(*before))
    held = turns.hold_back(keys(before), inventory(*after), most=1)
    assert held == {("shop", "t001"): before[1], ("shop", "t002"): before[2]}
    view = inventory(*after).holding_back(held)
    assert [view.secret("shop", f"t00{number}") for number in range(4)] == [after[0], before[1], before[2], None]


def test_secrets_without_keys_and_unchanged_ones_take_no_turn() -> None:
    same = [*secrets("shop", 5), Secret(Metadata("users", "shop"), {"auth": "x"})]
    turns = SecretTurns()
    turns.saw(keys(same[:5]), inventory(*same))
    again = [msgspec.structs.replace(each) for each in same]
    assert turns.hold_back(keys(same), inventory(*again), most=0) == {}


def test_without_a_bound_all_are_judged() -> None:
    many = secrets("shop", 1000)
    assert SecretTurns().hold_back(keys(many), inventory(*many), most=None) == {}


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 12)), st.integers(0, 30))
def test_no_namespace_has_two_turns_more_than_another_that_waits(counts: dict[str, int], most: int) -> None:
    wanted = [(name, str(number)) for name, count in counts.items() for number in range(count)]
    first = first_in_turns(wanted, most)
    assert len(first) == min(most, len(wanted))
    got = {name: sum(namespace == name for namespace, _ in first) for name in counts}
    waiting = [got[name] for name, count in counts.items() if got[name] < count]
    assert all(max(got.values()) <= each + 1 for each in waiting)


def _translated(*objects: KubernetesObject, shelf: CertificateShelf, most: int | None) -> Translation:
    everything = (ingress_class(), config_map(), service(), INGRESS, *objects)
    before = Wanted(frozenset({("shop", "t")}))
    known, memories = inventory(*everything), Memories(shelf)
    return translate(known, TranslationContext(), memories=memories, before=before, judged_most=most)


def test_a_translation_serves_the_certificate_that_it_knew_until_the_turn_of_the_next() -> None:
    shelf = CertificateShelf()
    assert not _translated(tls_secret("t", SHOP, SHOP_KEY), shelf=shelf, most=None).is_partial
    renewed = tls_secret("t", OTHER, OTHER_KEY)
    partial = _translated(renewed, shelf=shelf, most=0)
    assert partial.is_partial
    assert [each.chain_pem for each in partial.model.certificates] == [SHOP]
    whole = _translated(renewed, shelf=shelf, most=1)
    assert not whole.is_partial
    assert whole.model.certificates == ()  # the new one is for another host


def test_a_new_certificate_that_waits_is_a_finding_that_says_so() -> None:
    partial = _translated(tls_secret("t", SHOP, SHOP_KEY), shelf=CertificateShelf(), most=0)
    (finding,) = [each for each in partial.findings if each.reason == "CertificateUnusable"]
    assert finding.message == "Secret shop/t is new and waits for its turn to be judged: wait some seconds."
    missing = _translated(shelf=CertificateShelf(), most=0)
    (finding,) = [each for each in missing.findings if each.reason == "CertificateUnusable"]
    assert finding.message == "Secret shop/t does not exist: create it."
