"""The files of the page, and what binds a browser that shows it."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from ingress.admin.site import SECURITY_FIELDS, site_handlers

FILES = {each.name: each.read_text(encoding="utf-8") for each in (files("ingress.admin") / "ui").iterdir()}
SCRIPTS = {name: text for name, text in FILES.items() if name.endswith(".js")}


def test_nothing_from_elsewhere_and_nothing_inline() -> None:
    policy = SECURITY_FIELDS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "*" not in policy
    assert "http" not in policy
    assert policy.startswith("default-src 'none'; ")


async def body_of(path: str) -> Any:
    response = await site_handlers()[path](make_mocked_request("GET", path))
    assert isinstance(response, web.Response)
    return response


async def test_every_file_is_served_with_its_type() -> None:
    types = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
    assert set(site_handlers()) == {"/ui", *(f"/ui/{name}" for name in FILES if name != "index.html")}
    for path in site_handlers():
        name = path.removeprefix("/ui").removeprefix("/") or "index.html"
        response = await body_of(path)
        assert response.text == FILES[name]
        assert response.content_type == types[name.rpartition(".")[2]]


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_no_script_makes_markup_or_code_from_text(name: str) -> None:
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc|DOMParser|\.href ="
    )
    assert re.findall(forbidden, SCRIPTS[name]) == []


def test_no_file_asks_for_anything_elsewhere() -> None:
    """Addresses in the files are names of XML, examples in placeholders, and nothing else."""
    found = {match for text in FILES.values() for match in re.findall(r"https?://[\w./-]+", text)}
    assert found == {"http://www.w3.org/2000/svg", "http://shop.example/cart"}


def test_no_style_or_script_stands_inside_the_page() -> None:
    page = FILES["index.html"]
    assert re.findall(r"<style|\sstyle=|\son\w+=|javascript:", page) == []
    assert re.findall(r"<script(?![^>]*\ssrc=)", page) == []
