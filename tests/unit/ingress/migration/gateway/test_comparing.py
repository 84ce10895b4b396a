"""Two models are asked about the same requests."""

from __future__ import annotations

from ingress.migration.gateway.comparing import ModelAnswer, Probe, differences, probes_of
from ingress.settings.context import TranslationContext
from ingress.translation.assembly import translate
from tests.unit.ingress.cluster import inventory


def urls(*paths: str, host: str = "a.test", secure: tuple[str, ...] = ()) -> list[str]:
    return [each.url for each in probes_of({host: paths}, {}, secure=secure, calls=())]


def test_a_path_is_asked_with_its_neighbours() -> None:
    assert {"http://a.test/cart", "http://a.test/cart/", "http://a.test/cartx", "http://a.test/CART"} <= set(
        urls("/cart")
    )
    assert "http://a.test/nobody/has-this" in urls("/cart")
    assert not [each for each in urls("/cart") if each.startswith("https")]
    assert "https://a.test/cart" in urls("/cart", secure=("a.test",))


def test_a_star_stands_for_one_label_and_for_two() -> None:
    assert {"http://a.a.test/", "http://a.b.a.test/"} <= set(urls(host="*.a.test"))


def test_an_expression_is_asked_by_its_beginning() -> None:
    assert "http://a.test/api" in urls("/api(/|$)(.*)")


def test_fields_and_calls_are_asked() -> None:
    found = [*probes_of({"a.test": ["/"]}, {("a.test", "/"): ["x: 1"]}, secure=(), calls=("a.test",))]
    assert {each.fields for each in found} == {
        ("content-type: application/grpc",),
        ("content-type: application/grpc", "x: 1"),
    }


def test_equal_models_do_not_differ() -> None:
    model = translate(inventory(), TranslationContext()).model
    assert [*differences(model, model, [Probe("http://a.test/"), Probe("http:///")])] == []


def test_answers_are_told_in_words() -> None:
    assert str(ModelAnswer(308, "https://a.test", None, None, ())) == "308 to https://a.test"
    assert (
        str(ModelAnswer(None, None, "shop/web", "/x", ("BasicAuth",))) == "Service shop/web as /x, guarded by BasicAuth"
    )
