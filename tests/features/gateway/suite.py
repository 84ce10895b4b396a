"""The tests of the conformance suite of Gateway API by what they are about, and the cases that ask the same.

Does not play cases. Names are those of kubernetes-sigs/gateway-api, conformance/tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.features.gateway.cases import all_cases

SUITE: Final[Mapping[str, str]] = {
    "Gateway, in every profile": """
        GatewayClassObservedGenerationBump GatewayInvalidParametersRef GatewayInvalidRouteKind
        GatewayInvalidTLSConfiguration GatewayListenerUnsupportedProtocol GatewayModifyListeners
        GatewayObservedGenerationBump GatewaySecretInvalidReferenceGrant GatewaySecretMissingReferenceGrant
        GatewaySecretReferenceGrantAllInNamespace GatewaySecretReferenceGrantSpecific GatewayWithAttachedRoutes""",
    "Gateway, extended": """
        GatewayFrontendClientCertificateValidation GatewayFrontendClientCertificateValidationInsecureFallback
        GatewayFrontendInvalidDefaultClientCertificateValidation GatewayHTTPListenerIsolation GatewayInfrastructure
        GatewayInvalidFrontendClientCertificateValidation GatewayInvalidTLSBackendConfiguration
        GatewayOptionalAddressValue GatewayStaticAddresses GatewayTLSBackendClientCertificate
        GatewayWithAttachedRoutesWithPort8080""",
    "ListenerSet": """
        ListenerSetAllowedNamespaceAll ListenerSetAllowedNamespaceNone ListenerSetAllowedNamespaceSame
        ListenerSetAllowedNamespaceSelector ListenerSetAllowedRoutesCrossNamespace ListenerSetAllowedRoutesNamespaces
        ListenerSetAllowedRoutesSupportedKinds ListenerSetDefaultNotAllowed ListenerSetDualParentRefIndependence
        ListenerSetGatewayParentSectionNameNotFound ListenerSetHTTPRouting ListenerSetHostnameConflict
        ListenerSetParentNotAccepted ListenerSetProtocolConflict ListenerSetReferenceGrant
        ListenerSetRouteStatusScopedToParentRef""",
    "HTTPRoute": """
        HTTPExactPathMatching HTTPRouteCrossNamespace HTTPRouteDisallowedKind HTTPRouteHTTPSListener
        HTTPRouteHeaderMatching HTTPRouteHostnameIntersection HTTPRouteInvalidBackendRefUnknownKind
        HTTPRouteInvalidCrossNamespaceBackendRef HTTPRouteInvalidCrossNamespaceParentRef
        HTTPRouteInvalidNonExistentBackendRef HTTPRouteInvalidParentRefNotMatchingListenerPort
        HTTPRouteInvalidParentRefNotMatchingSectionName HTTPRouteInvalidParentRefSectionNameNotMatchingPort
        HTTPRouteInvalidReferenceGrant HTTPRouteListenerHostnameMatching HTTPRouteListenerPortMatching
        HTTPRouteMatching HTTPRouteMatchingAcrossRoutes HTTPRouteMultipleGateways HTTPRouteObservedGenerationBump
        HTTPRoutePartiallyInvalidViaInvalidReferenceGrant HTTPRoutePathMatchOrder HTTPRouteRedirectHostAndStatus
        HTTPRouteReferenceGrant HTTPRouteRequestHeaderModifier HTTPRouteServiceTypes HTTPRouteSimpleSameNamespace
        HTTPRouteWeight""",
    "HTTPRoute, extended": """
        BackendTLSPolicy BackendTLSPolicyConflictResolution BackendTLSPolicyInvalidCACertificateRef
        BackendTLSPolicyInvalidKind BackendTLSPolicyObservedGenerationBump BackendTLSPolicySANValidation
        HTTPRoute303Redirect HTTPRoute307Redirect HTTPRoute308Redirect HTTPRouteBackendProtocolH2C
        HTTPRouteBackendProtocolWebSocket HTTPRouteBackendRequestHeaderModifier HTTPRouteCORS
        HTTPRouteCORSAllowCredentialsBehavior HTTPRouteHTTPSListenerDetectMisdirectedRequests HTTPRouteMethodMatching
        HTTPRouteNamedRule HTTPRouteQueryParamMatching HTTPRouteRedirectPath HTTPRouteRedirectPort
        HTTPRouteRedirectPortAndScheme HTTPRouteRedirectScheme HTTPRouteRequestHeaderModifierBackendWeights
        HTTPRouteRequestMirror HTTPRouteRequestMultipleMirrors HTTPRouteRequestPercentageMirror
        HTTPRouteResponseHeaderModifier HTTPRouteRetry HTTPRouteRetryConnectionError HTTPRouteRetryWithTimeouts
        HTTPRouteRewriteHost HTTPRouteRewritePath HTTPRouteTimeoutBackendRequest HTTPRouteTimeoutRequest""",
    "GRPCRoute": """
        GRPCExactMethodMatching GRPCRouteHeaderMatching GRPCRouteListenerHostnameMatching GRPCRouteNamedRule
        GRPCRouteWeight""",
    "TLSRoute": """
        TLSRouteHostnameIntersection TLSRouteInvalidBackendRefNonexistent TLSRouteInvalidBackendRefUnknownKind
        TLSRouteInvalidNoMatchingListener TLSRouteInvalidNoMatchingListenerHostname TLSRouteInvalidReferenceGrant
        TLSRouteListenerMixedTerminationNotSupported TLSRouteListenerPassthroughSupportedKinds
        TLSRouteListenerTerminateSupportedKinds TLSRouteMixedTerminationSameNamespace TLSRouteSimpleSameNamespace
        TLSRouteTerminateSimpleSameNamespace""",
    "TCPRoute": """
        TCPRouteInvalidBackendRefNonexistent TCPRouteInvalidCrossNamespaceBackendRef TCPRouteInvalidNonTCPListener
        TCPRouteMultipleRoutesAttachment TCPRouteParentRefAttachAll TCPRouteParentRefPortAndSectionName
        TCPRouteReferenceGrant TCPRouteWeightedRouting""",
    "Newer than v1.6": """
        BackendTLSPolicyGRPCRoute BackendTLSPolicyPreserveForeignStatus BackendTLSPolicyTLSRouteTerminate
        GRPCRouteAllBackendsWeightZero GRPCRouteMultipleGateways
        GRPCRouteMultipleRoutesAttachmentSameHostnameIntersection GatewayHTTPSAndTLSPassthroughSamePort
        GatewayListenerProtocolAndRouteKindConflicts GatewayNameMaximumLength GatewayOverlappingTLSConfigHostnames
        GatewayPreserveForeignConditions GatewayUpdateListenerHostname HTTPRouteAllBackendsWeightZero
        HTTPRouteBackendURLRewrite HTTPRouteExternalAuthBackendRefNotFound HTTPRouteExternalAuthBackendUnavailable
        HTTPRouteExternalAuthHTTP HTTPRouteMultipleRoutesAttachmentSameHostnameIntersection
        ListenerSetMixedProtocolConflict ListenerSetUpdateListenerHostname TCPRouteOnTLSTerminate
        TLSRouteMultipleRoutesAttachmentSameHostnameIntersection""",
    "UDPRoute, which zonal does not read": """
        UDPRoute UDPRouteNotAllowedByListeners UDPRouteParentRefPortAndSectionName UDPRouteWeightedRouting""",
}
"""The names by group, as one text."""

_FILES: Final = ("gateway_api", "gateway_suite")


def cases_by_test() -> dict[str, list[str]]:
    """The identifiers of the cases that restate each test, sorted."""
    found: dict[str, list[str]] = {}
    for case in (each for name in _FILES for each in all_cases(name)):
        kind, _, test = case.source.partition(": ")
        if kind == "test":
            found.setdefault(test.partition(" (")[0], []).append(case.id)
    return {test: sorted(ids) for test, ids in found.items()}
