"""What binds a browser that shows a page of the admin port."""

from __future__ import annotations

from ingress.admin.site import SECURITY_FIELDS


def test_nothing_from_elsewhere_and_nothing_inline() -> None:
    policy = SECURITY_FIELDS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "*" not in policy
    assert "http" not in policy
    assert policy.startswith("default-src 'none'; ")
