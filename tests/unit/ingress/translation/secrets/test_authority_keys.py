"""Keys of authorities in ConfigMaps."""

from __future__ import annotations

from ingress.translation.secrets.authority_keys import config_maps_key, config_maps_of


def test_a_key_names_its_config_maps_and_that_of_a_secret_names_none() -> None:
    names = (("infra", "ca"), ("shop", "other"))
    assert config_maps_of(config_maps_key(names)) == names
    assert config_maps_of("infra/ca") == ()
