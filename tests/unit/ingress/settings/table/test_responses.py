"""Options about responses: how each is read, and what becomes of them."""

from __future__ import annotations

import pytest

from balancer.model.settings import Compression
from ingress.findings import Severity
from ingress.settings.configmap import read_configmap
from ingress.settings.table.responses import brotli_level, config_map_name, gzip_level, media_types
from ingress.settings.values import InvalidValue


@pytest.mark.parametrize(("text", "expected"), [("", None), (" ", None), (" zonal/a.b-c ", ("zonal", "a.b-c"))])
def test_a_configmap_is_named_with_its_namespace(text: str, expected: tuple[str, str] | None) -> None:
    assert config_map_name(text) == expected


@pytest.mark.parametrize("text", ["fields", "zonal/", "/fields", "zonal/a/b", "Zonal/a", "zonal/../a", "a.b/c"])
def test_any_other_name_is_invalid(text: str) -> None:
    with pytest.raises(InvalidValue):
        config_map_name(text)


def test_media_types_are_sorted_and_in_lower_case() -> None:
    assert media_types("text/css  Image/SVG+xml\ttext/css") == ("image/svg+xml", "text/css")
    assert media_types("*") == ("*",)
    assert media_types("") == ()


@pytest.mark.parametrize("text", ["css", "text/", "text/css,text/html", "text/*", "ü/x"])
def test_what_is_no_media_type_is_invalid(text: str) -> None:
    with pytest.raises(InvalidValue):
        media_types(text)


@pytest.mark.parametrize("text", ["0", "10", "x", ""])
def test_a_level_is_one_of_zlib(text: str) -> None:
    assert gzip_level("9") == 9
    with pytest.raises(InvalidValue):
        gzip_level(text)


def test_nothing_is_compressed_unless_asked() -> None:
    assert read_configmap({"gzip-level": "5"})[0].proxy.compression is None
    compression = read_configmap({"use-gzip": "true"})[0].proxy.compression
    assert compression is not None
    assert (compression.level, compression.min_bytes, len(compression.types)) == (1, 256, 17)
    data = {"use-gzip": "true", "gzip-level": "5", "gzip-min-length": "0", "gzip-types": "text/css"}
    assert read_configmap(data)[0].proxy.compression == Compression(level=5, min_bytes=0, types=("text/css",))


@pytest.mark.parametrize("text", ["-1", "12", "x", ""])
def test_a_level_of_brotli_is_bounded(text: str) -> None:
    assert (brotli_level("0"), brotli_level("11")) == (0, 9)
    with pytest.raises(InvalidValue):
        brotli_level(text)


@pytest.mark.parametrize("key", ["enable-brotli", "use-brotli"])
def test_brotli_is_apart_from_gzip(key: str) -> None:
    assert read_configmap({"brotli-level": "5"})[0].proxy.brotli is None
    proxy = read_configmap({key: "true", "brotli-level": "5", "brotli-types": "text/css"})[0].proxy
    assert proxy.brotli == Compression(level=5, min_bytes=20, types=("text/css",))
    assert proxy.compression is None


def test_the_configmap_of_added_fields_is_wanted() -> None:
    assert read_configmap({"add-headers": "zonal/fields"})[0].responses.config_maps == {("zonal", "fields")}
    settings, (finding,) = read_configmap({"add-headers": "fields"})
    assert settings.responses.config_maps == frozenset()
    assert finding.severity is Severity.UNPROTECTED
