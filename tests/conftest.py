"""What holds for every test: how property tests behave on a busy machine."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Several suites may share the machine, so a slow example says nothing about the code.
settings.register_profile("zonal", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("zonal")
