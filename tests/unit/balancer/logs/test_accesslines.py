"""A line of the access log says what happened, in either format, whatever clients put into their requests."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from balancer.errors import ErrorKind
from balancer.logs.accesslines import (
    FIELD_CHARACTERS_MAX,
    AccessLogFormat,
    AccessRecord,
    FailedAttempt,
    line_format,
)
from tests.properties import examples

CONTRACT = [
    "time",
    "client",
    "method",
    "host",
    "path",
    "protocol",
    "status",
    "bytes_in",
    "bytes_out",
    "duration",
    "endpoint_duration",
    "namespace",
    "ingress",
    "service",
    "endpoints",
    "from_zone",
    "to_zone",
    "locality",
    "reason",
    "request_id",
]

ORDINARY = AccessRecord(
    time=1722470400.123,
    client="10.1.2.3",
    method="GET",
    host="shop.example.com",
    path="/items?page=2",
    protocol="HTTP/1.1",
    status=200,
    bytes_in=0,
    bytes_out=4096,
    duration=0.0123456789,
    endpoint_duration=0.0112345678,
    namespace="shop",
    ingress="shop-ingress",
    service="catalog",
    endpoints=("10.0.3.4:8080",),
    from_zone="zone-a",
    to_zone="zone-b",
    locality="remote",
    reason="zone_empty",
    request_id="0f1e2d3c",
)

UNROUTED: dict[str, Any] = {
    "namespace": "",
    "ingress": "",
    "service": "",
    "endpoints": (),
    "endpoint_duration": None,
    "status": 404,
}


def record(**changes: Any) -> AccessRecord:
    return msgspec.structs.replace(ORDINARY, **changes)


def line(format: AccessLogFormat, **changes: Any) -> bytes:
    make = line_format(format)
    assert make is not None
    return make(record(**changes))


def json_line(**changes: Any) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(line(AccessLogFormat.JSON, **changes))
    return parsed


def text_line(**changes: Any) -> str:
    return line(AccessLogFormat.UPSTREAMINFO, **changes).decode("ascii")


seconds = st.integers(0, 10**11).map(lambda microseconds: microseconds / 1e6)
text = st.text(max_size=5)


def record_with_anything() -> st.SearchStrategy[AccessRecord]:
    """Any record that is written as it is: of short texts that UTF-8 can say, and of no more digits than a line has."""
    numbers = st.integers(0, 2**63)
    return st.builds(
        AccessRecord,
        **{name: text for name in ("client", "method", "host", "path", "protocol", "namespace", "ingress", "service")},
        **{name: text for name in ("from_zone", "to_zone", "locality", "reason", "request_id", "service_port")},
        **{name: st.none() | text for name in ("user_agent", "referer", "dry_run_reason", "error")},
        **{name: numbers for name in ("status", "bytes_in", "bytes_out", "head_bytes")},
        time=st.integers(0, 4 * 10**12).map(lambda milliseconds: milliseconds / 1e3),
        duration=seconds,
        endpoint_duration=st.none() | seconds,
        endpoints=st.lists(text, max_size=3).map(tuple),
        endpoint_status=st.none() | numbers,
        failed_attempts=st.lists(st.builds(FailedAttempt, st.none() | numbers, seconds), max_size=2).map(tuple),
    )


PAGE = Path(__file__).parents[4] / "docs" / "access-log.md"

# The parser `k8s-nginx-ingress` that Fluent Bit ships (conf/parsers.conf), in Python's spelling of groups.
_FLUENT_BIT = re.compile(
    r'^(?P<host>[^ ]*) - (?P<user>[^ ]*) \[(?P<time>[^\]]*)\] "(?P<method>\S+)(?: +(?P<path>[^"]*?)(?: +\S*)?)?"'
    r' (?P<code>[^ ]*) (?P<size>[^ ]*) "(?P<referer>[^"]*)" "(?P<agent>[^"]*)" (?P<request_length>[^ ]*)'
    r" (?P<request_time>[^ ]*) \[(?P<proxy_upstream_name>[^ ]*)\] (\[(?P<proxy_alternative_upstream_name>[^ ]*)\] )?"
    r"(?P<upstream_addr>[^ ]*) (?P<upstream_response_length>[^ ]*) (?P<upstream_response_time>[^ ]*)"
    r" (?P<upstream_status>[^ ]*) (?P<reg_id>[^ ]*).*$",
)

anything = st.text(st.characters(exclude_categories=()), max_size=40)
"""Any text at all, lone surrogates included."""


def test_off_makes_no_lines() -> None:
    assert line_format(AccessLogFormat.OFF) is None


def test_the_documentation_page_names_every_field_in_order() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert tuple(rows) == AccessRecord.__struct_fields__
    assert rows[: len(CONTRACT)] == CONTRACT


class TestJson:
    def test_the_fields_are_the_contract_in_its_order(self) -> None:
        assert list(json_line()) == CONTRACT

    def test_values(self) -> None:
        assert json_line() == {
            "time": "2024-08-01T00:00:00.123Z",
            "client": "10.1.2.3",
            "method": "GET",
            "host": "shop.example.com",
            "path": "/items?page=2",
            "protocol": "HTTP/1.1",
            "status": 200,
            "bytes_in": 0,
            "bytes_out": 4096,
            "duration": 0.012346,
            "endpoint_duration": 0.011235,
            "namespace": "shop",
            "ingress": "shop-ingress",
            "service": "catalog",
            "endpoints": ["10.0.3.4:8080"],
            "from_zone": "zone-a",
            "to_zone": "zone-b",
            "locality": "remote",
            "reason": "zone_empty",
            "request_id": "0f1e2d3c",
        }

    def test_details_appear_where_they_are_known(self) -> None:
        details = {"endpoint_status": 200, "service_port": "80", "head_bytes": 99, "user_agent": "curl", "referer": "/"}
        details |= {"dry_run_reason": "zone_local", "error": "endpoint_closed"}
        assert json_line(**details) == json_line() | details

    def test_a_request_without_a_route_has_all_fields_too(self) -> None:
        parsed = json_line(**UNROUTED)
        assert list(parsed) == CONTRACT
        assert parsed["endpoint_duration"] is None
        assert parsed["endpoints"] == []

    def test_failed_attempts_are_told(self) -> None:
        parsed = json_line(endpoints=("10.0.0.1:80", "10.0.0.2:80"), failed_attempts=(FailedAttempt(None, 0.5),))
        assert parsed["endpoints"] == ["10.0.0.1:80", "10.0.0.2:80"]
        assert parsed["failed_attempts"] == [{"status": None, "duration": 0.5}]

    @pytest.mark.parametrize(
        ("time", "written"),
        [
            (0.0, "1970-01-01T00:00:00.000Z"),
            (1722470400.9994, "2024-08-01T00:00:00.999Z"),
            (1722470400.9996, "2024-08-01T00:00:01.000Z"),
            (1709208000.0, "2024-02-29T12:00:00.000Z"),
        ],
    )
    def test_time_is_rfc_3339_in_utc_with_milliseconds(self, time: float, written: str) -> None:
        assert json_line(time=time)["time"] == written

    def test_the_remembered_second_is_given_up_when_time_moves_either_way(self) -> None:
        make = line_format(AccessLogFormat.JSON)
        assert make is not None
        lines = [json.loads(make(record(time=time)))["time"][17:] for time in (5.5, 5.75, 6.25, 5.0)]
        assert lines == ["05.500Z", "05.750Z", "06.250Z", "05.000Z"]

    @examples(30)
    @given(record_with_anything())
    def test_a_line_says_what_the_plain_encoding_of_its_record_says(self, given: AccessRecord) -> None:
        plain = json.loads(msgspec.json.encode(given))
        make = line_format(AccessLogFormat.JSON)
        assert make is not None
        parsed = json.loads(make(given))
        parsed["time"] = datetime.fromisoformat(parsed["time"]).timestamp()
        assert list(parsed.items()) == list(plain.items())

    def test_one_maker_makes_lines_that_do_not_depend_on_those_before(self) -> None:
        make = line_format(AccessLogFormat.JSON)
        assert make is not None
        changes: list[dict[str, Any]] = [{"path": "x" * 9000}, {"path": "\ud800"}, {}, UNROUTED, {"time": 0.0004}]
        assert [make(record(**each)) for each in changes] == [line(AccessLogFormat.JSON, **each) for each in changes]

    def test_long_fields_are_cut(self) -> None:
        long = "x" * (FIELD_CHARACTERS_MAX + 1)
        parsed = json_line(path=long, host=long, user_agent=long)
        assert parsed["path"] == parsed["host"] == parsed["user_agent"] == long[:-1]
        assert json_line(path=long[:-1])["path"] == long[:-1]

    @example("/caf\udce9", "\ud800")
    @example('/"\\\r\n\x00', "\u2028")
    @example("\x7f\x9b31m", "\u202e\U000e0041")
    @given(anything, anything)
    def test_any_text_makes_one_line_of_json(self, path: str, user_agent: str) -> None:
        written = line(AccessLogFormat.JSON, path=path, user_agent=user_agent)
        assert written.index(b"\n") == len(written) - 1
        assert written[:-1].decode("ascii").isprintable()
        parsed = json.loads(written)
        assert parsed["path"] == path.encode("utf-8", "replace").decode()
        assert parsed["status"] == 200


class TestText:
    def test_an_ordinary_line(self) -> None:
        changes = {"endpoint_status": 200, "service_port": "80", "head_bytes": 420, "bytes_in": 5}
        assert text_line(**changes, user_agent="curl/8.5.0", referer="https://example.com/") == (
            '10.1.2.3 - - [01/Aug/2024:00:00:00 +0000] "GET /items?page=2 HTTP/1.1" 200 4096'
            ' "https://example.com/" "curl/8.5.0" 425 0.012 [shop-catalog-80] [] '
            "10.0.3.4:8080 4096 0.011 200 0f1e2d3c\n"
        )

    def test_a_line_without_route_and_without_optional_headers(self) -> None:
        assert text_line(**UNROUTED, bytes_out=150, request_id="") == (
            '10.1.2.3 - - [01/Aug/2024:00:00:00 +0000] "GET /items?page=2 HTTP/1.1" 404 150'
            ' "-" "-" 0 0.012 [upstream-default-backend] [] - - - - -\n'
        )

    def test_an_error_is_in_the_brackets_of_the_alternative_backend(self) -> None:
        written = text_line(endpoints=(), endpoint_duration=None, status=503, error="no_endpoint", service_port="80")
        assert written.endswith(" 0 0.012 [shop-catalog-80] [error=no_endpoint] - - - - 0f1e2d3c\n")

    @pytest.mark.parametrize("error", [None, *(kind.value for kind in ErrorKind)])
    def test_a_parser_of_the_format_reads_lines_with_and_without_an_error(self, error: str | None) -> None:
        parsed = _FLUENT_BIT.match(text_line(endpoints=(), endpoint_duration=None, status=503, error=error).rstrip())
        assert parsed is not None
        assert (parsed["code"], parsed["proxy_upstream_name"]) == ("503", "shop-catalog-")
        assert parsed["proxy_alternative_upstream_name"] == ("" if error is None else f"error={error}")
        assert (parsed["upstream_addr"], parsed["upstream_status"], parsed["reg_id"]) == ("-", "-", "0f1e2d3c")

    def test_several_attempts_are_separated_by_commas(self) -> None:
        written = text_line(
            endpoints=("10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"),
            failed_attempts=(FailedAttempt(None, 0.5), FailedAttempt(502, 0.25)),
            endpoint_status=200,
        )
        assert written.endswith(
            "] [] 10.0.0.1:80, 10.0.0.2:80, 10.0.0.3:80 0, 0, 4096 0.500, 0.250, 0.011 -, 502, 200 0f1e2d3c\n"
        )

    def test_an_endpoint_that_sent_no_status_is_a_dash(self) -> None:
        assert text_line(status=499).endswith(" 10.0.3.4:8080 4096 0.011 - 0f1e2d3c\n")

    @pytest.mark.parametrize(
        ("sent", "written"),
        [
            ('a"b', r"a\x22b"),
            ("a\\b", r"a\x5Cb"),
            ("a\r\nb\x7f", r"a\x0D\x0Ab\x7F"),
            ("é", r"\xE9"),
            ("€", r"\xE2\x82\xAC"),
            ("plain ~ text", "plain ~ text"),
        ],
    )
    def test_what_is_not_printable_ascii_is_escaped_as_nginx_does(self, sent: str, written: str) -> None:
        assert f'"{written}"' in text_line(user_agent=sent)

    def test_long_fields_are_cut(self) -> None:
        long = "x" * (FIELD_CHARACTERS_MAX + 1)
        assert f'"GET {long[:-1]} HTTP/1.1"' in text_line(path=long)

    @example('" 200 1 "', "\r\n", "\udce9\x7f")
    @given(anything, anything, anything)
    def test_no_text_can_forge_a_field(self, path: str, referer: str, user_agent: str) -> None:
        written = text_line(path=path, referer=referer, user_agent=user_agent)
        pattern = r'10\.1\.2\.3 - - \[[^]]+\] "[^"\\]*(?:\\x..[^"\\]*)*" 200 4096 "[^"]*" "[^"]*" 0 0\.012 \[.*\] .*\n'
        assert re.fullmatch(pattern, written)
        assert written.isascii()
