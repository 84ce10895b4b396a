"""How many examples a property test takes that needs more or fewer than others."""

from __future__ import annotations

from hypothesis import settings


def examples(most: int) -> settings:
    """So many in the gate. After each change, with the profile `unit`, as few as of any other property."""
    is_quick = settings.get_current_profile_name() == "unit"
    return settings(max_examples=min(most, settings().max_examples) if is_quick else most)
