"""What `@hook` says of a function."""

from __future__ import annotations

from typing import Any

import pytest

from zonal_hooks.declaring import MARK, Declared, hook


def test_a_hook_has_20_ms_and_denies() -> None:
    @hook
    def request(message: Any) -> None: ...

    assert getattr(request, MARK) == Declared(0.02, "deny", False, False)


def test_a_hook_says_otherwise() -> None:
    @hook(timeout="1.5s", on_error="pass", isolated=True, body=True)
    def pick(message: Any) -> None: ...

    assert getattr(pick, MARK) == Declared(1.5, "pass", True, True)


@pytest.mark.parametrize("timeout", ["", "20", "0ms", "31s", "-1s", "1m", "1e3ms", " 20ms", 20, None])
def test_a_timeout_is_a_short_text_with_its_unit(timeout: Any) -> None:
    with pytest.raises(ValueError, match="timeout is a text"):
        hook(timeout=timeout)


def test_a_failing_hook_denies_or_passes() -> None:
    with pytest.raises(ValueError, match="deny or pass"):
        hook(on_error="ignore")  # type: ignore[call-overload]


def test_a_function_of_another_name_is_no_hook() -> None:
    with pytest.raises(TypeError, match="not 'requests'"):

        @hook
        def requests(message: Any) -> None: ...


def test_a_response_has_no_body_for_hooks() -> None:
    with pytest.raises(TypeError, match="no bodies"):

        @hook(body=True)
        def response(message: Any) -> None: ...
