"""The page names every option once, with its default and where it may be set."""

from __future__ import annotations

from tools.settings_page import with_tables

PAGE = """\
before
<!-- made from the table of options: ConfigMap -->
| old |
<!-- end of the table -->
between
<!-- made from the table of options: Annotations -->
<!-- end of the table -->
after
"""


def test_tables_are_made_anew_between_their_marks_and_the_prose_stays() -> None:
    page = with_tables(PAGE)
    assert "| old |" not in page
    assert page.startswith("before\n<!-- made from the table of options: ConfigMap -->\n| key | default | meaning |\n")
    assert "\n<!-- end of the table -->\nbetween\n" in page
    assert page.endswith("\n<!-- end of the table -->\nafter\n")
    assert with_tables(page) == page


def test_a_key_has_its_default_and_words_of_yaml_are_quoted() -> None:
    page = with_tables(PAGE)
    assert '\n| `generate-request-id` | `"true"` | ' in page
    assert "\n| `proxy-body-size` | `1m` | " in page
    assert "\n| `zone-drain` | empty | " in page


def test_an_annotation_says_where_it_may_be_set_and_how_it_differs_from_the_key() -> None:
    page = with_tables(PAGE)
    assert "\n| `zonal-ingress.io/ejection-5xx` | Ingress, Service | as the key `ejection-5xx` |\n" in page
    assert "/proxy-read-timeout` | Ingress | as the key `proxy-read-timeout`, at most 3600 |\n" in page
    assert "/service-upstream` | Ingress | as the key `service-upstream`; holds for the backend, and " in page
