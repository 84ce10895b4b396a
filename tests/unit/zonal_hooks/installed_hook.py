"""A hook as an installed package would bring it."""

from __future__ import annotations

from zonal_hooks import Response, hook


@hook
def response(response: Response) -> None:
    response.set_header("x-served-by", "zonal")
