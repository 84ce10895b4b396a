"""Names in certificates as nginx writes them, on one line whatever they hold."""

from __future__ import annotations

from cryptography import x509
from cryptography.x509.oid import NameOID
from hypothesis import given
from hypothesis import strategies as st

from balancer.matching.subjects import readable_name


def name(**attributes: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(getattr(NameOID, key), text) for key, text in attributes.items()])


def test_the_most_specific_attribute_comes_first() -> None:
    assert readable_name(name(ORGANIZATION_NAME="Shop, Inc.", COMMON_NAME="alice")) == "CN=alice,O=Shop\\, Inc."


def test_attributes_have_the_names_that_openssl_gives_them() -> None:
    subject = name(COMMON_NAME="a", EMAIL_ADDRESS="a@b.test", SERIAL_NUMBER="7", SURNAME="s", GIVEN_NAME="g")
    assert readable_name(subject) == "GN=g,SN=s,serialNumber=7,emailAddress=a@b.test,CN=a"


def test_other_characters_are_escaped_as_bytes() -> None:
    assert readable_name(name(COMMON_NAME="é\r\nX: y")) == "CN=\\C3\\A9\\0D\\0AX: y"


@given(st.text(min_size=1, max_size=64))
def test_a_name_is_printable_ascii(text: str) -> None:
    try:
        subject = name(COMMON_NAME=text)
    except (ValueError, UnicodeEncodeError):
        return
    assert readable_name(subject).isascii()
    assert readable_name(subject).isprintable()
