"""What belongs to Argo CD, Flux, Helm, kubectl or cert-manager is known by its name."""

from __future__ import annotations

import pytest

from ingress.migration.belongings import OF_OWNERS, OF_THE_SERVER, SOLVER_LABEL, foreign, is_solver


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("argocd.argoproj.io/tracking-id", "Argo CD"),
        ("kustomize.toolkit.fluxcd.io/name", "Flux"),
        ("helm.toolkit.fluxcd.io/namespace", "Flux"),
        ("meta.helm.sh/release-name", "Helm"),
        ("helm.sh/chart", "Helm"),
        ("app.kubernetes.io/managed-by", "Helm or another manager"),
        ("app.kubernetes.io/instance", "Argo CD or Helm"),
        ("kubectl.kubernetes.io/last-applied-configuration", ""),
    ],
)
def test_names_of_programs(name: str, owner: str) -> None:
    assert [*foreign({name: "x"})] == [(name, owner)]


def test_names_of_people_are_theirs() -> None:
    assert [*foreign({"app": "x", "app.kubernetes.io/name": "x", "cert-manager.io/cluster-issuer": "x"})] == []
    assert not set(OF_OWNERS) & set(OF_THE_SERVER)


def test_an_ingress_of_a_challenge_is_known_by_its_label() -> None:
    assert is_solver({SOLVER_LABEL: "true"})
    assert not is_solver({SOLVER_LABEL: "false"})
    assert not is_solver(None)
