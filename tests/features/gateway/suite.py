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
        HTTPRouteResponseHeaderModifier HTTPRouteRetry HTTPRouteRewriteHost HTTPRouteRewritePath
        HTTPRouteTimeoutBackendRequest HTTPRouteTimeoutRequest""",
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
        BackendTLSPolicyGRPCRoute BackendTLSPolicyPreserveForeignStatus BackendTLSPolicyReencrypt
        BackendTLSPolicyTLSRouteTerminate GRPCRouteAllBackendsWeightZero GRPCRouteMultipleGateways
        GRPCRouteMultipleRoutesAttachmentSameHostnameIntersection GRPCRouteRequestHeaderModifier GRPCRouteRequestMirror
        GRPCRouteSessionPersistenceCookie GRPCRouteSessionPersistenceCookiePermanentLifetime
        GatewayClassSupportedVersionCondition GatewayHTTPSAndTLSPassthroughSamePort
        GatewayListenerProtocolAndRouteKindConflicts GatewayNameMaximumLength GatewayOverlappingTLSConfigHostnames
        GatewayPreserveForeignConditions GatewayUpdateListenerHostname HTTPRouteAllBackendsWeightZero
        HTTPRouteBackendRequestRedirect HTTPRouteBackendURLRewrite HTTPRouteExternalAuthBackendRefInvalidPort
        HTTPRouteExternalAuthBackendRefNotFound HTTPRouteExternalAuthBackendUnavailable HTTPRouteExternalAuthHTTP
        HTTPRouteExternalAuthHTTPResponseHeadersToUpstream HTTPRouteExternalAuthPartiallyInvalid
        HTTPRouteExternalAuthHTTPForwardBody HTTPRouteExternalAuthHTTPRequestHeadersToAuth
        HTTPRouteExternalAuthPerRouteScope HTTPRouteHostnamePrecedence
        HTTPRouteMultipleRoutesAttachmentSameHostnameIntersection HTTPRouteNoBackendRefs HTTPRoutePreserveForeignStatus
        HTTPRouteRetryConnectionError HTTPRouteRetryWithTimeouts HTTPRouteSessionPersistenceCookie
        ListenerSetMixedProtocolConflict ListenerSetProtocolAndRouteKindConflicts
        ListenerSetUpdateListenerHostname TCPRouteOnTLSTerminate
        TLSRouteMultipleRoutesAttachmentSameHostnameIntersection""",
    "UDPRoute, which zonal does not serve": """
        UDPRoute UDPRouteNotAllowedByListeners UDPRouteParentRefPortAndSectionName UDPRouteWeightedRouting""",
}
"""The names by group, as one text."""

_EXTENDED: Final[Mapping[str, str]] = {
    "BackendTLSPolicy": """
        BackendTLSPolicy BackendTLSPolicyConflictResolution BackendTLSPolicyInvalidCACertificateRef
        BackendTLSPolicyInvalidKind BackendTLSPolicyObservedGenerationBump BackendTLSPolicySANValidation
        GatewayInvalidTLSBackendConfiguration GatewayTLSBackendClientCertificate""",
    "BackendTLSPolicySANValidation": "BackendTLSPolicySANValidation",
    "GRPCRouteNamedRouteRule": "GRPCRouteNamedRule",
    "GatewayAddressEmpty": "GatewayOptionalAddressValue",
    "GatewayBackendClientCertificate": "GatewayInvalidTLSBackendConfiguration GatewayTLSBackendClientCertificate",
    "GatewayFrontendClientCertificateValidation": """
        GatewayFrontendClientCertificateValidation GatewayFrontendClientCertificateValidationInsecureFallback
        GatewayFrontendInvalidDefaultClientCertificateValidation GatewayInvalidFrontendClientCertificateValidation""",
    "GatewayFrontendClientCertificateValidationInsecureFallback": """
        GatewayFrontendClientCertificateValidationInsecureFallback""",
    "GatewayHTTPListenerIsolation": "GatewayHTTPListenerIsolation",
    "GatewayHTTPSListenerDetectMisdirectedRequests": "HTTPRouteHTTPSListenerDetectMisdirectedRequests",
    "GatewayInfrastructurePropagation": "GatewayInfrastructure",
    "GatewayPort8080": "GatewayWithAttachedRoutesWithPort8080 HTTPRouteRedirectPortAndScheme",
    "GatewayStaticAddresses": "GatewayStaticAddresses",
    "HTTPRoute303RedirectStatusCode": "HTTPRoute303Redirect",
    "HTTPRoute307RedirectStatusCode": "HTTPRoute307Redirect",
    "HTTPRoute308RedirectStatusCode": "HTTPRoute308Redirect",
    "HTTPRouteBackendProtocolH2C": "HTTPRouteBackendProtocolH2C",
    "HTTPRouteBackendProtocolWebSocket": "HTTPRouteBackendProtocolWebSocket",
    "HTTPRouteBackendRequestHeaderModification": """
        HTTPRouteBackendRequestHeaderModifier HTTPRouteRequestHeaderModifierBackendWeights""",
    "HTTPRouteBackendTimeout": "HTTPRouteRetryWithTimeouts HTTPRouteTimeoutBackendRequest",
    "HTTPRouteCORS": "HTTPRouteCORS HTTPRouteCORSAllowCredentialsBehavior",
    "HTTPRouteDestinationPortMatching": "HTTPRouteInvalidParentRefNotMatchingListenerPort",
    "HTTPRouteHostRewrite": "HTTPRouteRewriteHost",
    "HTTPRouteMethodMatching": "HTTPRouteMethodMatching",
    "HTTPRouteNamedRouteRule": "HTTPRouteNamedRule",
    "HTTPRouteParentRefPort": """
        HTTPRouteInvalidParentRefSectionNameNotMatchingPort HTTPRouteListenerPortMatching""",
    "HTTPRoutePathRedirect": "HTTPRouteRedirectPath",
    "HTTPRoutePathRewrite": "HTTPRouteRewritePath",
    "HTTPRoutePortRedirect": "HTTPRouteRedirectPort HTTPRouteRedirectPortAndScheme",
    "HTTPRouteQueryParamMatching": "HTTPRouteQueryParamMatching",
    "HTTPRouteRequestMirror": "HTTPRouteRequestMirror",
    "HTTPRouteRequestMultipleMirrors": "HTTPRouteRequestMultipleMirrors",
    "HTTPRouteRequestPercentageMirror": "HTTPRouteRequestPercentageMirror",
    "HTTPRouteRequestTimeout": "HTTPRouteRetryWithTimeouts HTTPRouteTimeoutRequest",
    "HTTPRouteResponseHeaderModification": "HTTPRouteResponseHeaderModifier",
    "HTTPRouteRetry": "HTTPRouteRetry HTTPRouteRetryWithTimeouts",
    "HTTPRouteRetryBackendTimeout": "HTTPRouteRetryWithTimeouts",
    "HTTPRouteRetryConnectionError": "HTTPRouteRetryConnectionError",
    "HTTPRouteSchemeRedirect": "HTTPRouteRedirectScheme",
    "TLSRouteModeMixed": "TLSRouteMixedTerminationSameNamespace",
    "TLSRouteModeTerminate": """
        TLSRouteListenerMixedTerminationNotSupported TLSRouteListenerTerminateSupportedKinds
        TLSRouteMixedTerminationSameNamespace TLSRouteTerminateSimpleSameNamespace""",
}
"""The extended features of v1.6, and the tests that ask for each. Those of ListenerSets ask for theirs.

v1.6 has no test for two of them, HTTPRouteRetryBackendTimeout and HTTPRouteRetryConnectionError.
"""

DIFFERS: Final[Mapping[str, str]] = {
    "GatewayListenerProtocolAndRouteKindConflicts": """
        wants `ProtocolConflict`, and `Invalid` for Accepted, of HTTPS and TLS without hostnames on one port. zonal says
        `HostnameConflict`. Both listeners are closed, as it wants.""",
    "HTTPRouteExternalAuthHTTPForwardBody": """
        wants bodies of up to `maxSize` sent to the service that authorizes. zonal sends none: a rule that asks for more
        than 0 is dropped, and its requests get 500.""",
    "HTTPRouteExternalAuthPartiallyInvalid": """
        wants the condition PartiallyInvalid for a rule whose Service that authorizes does not exist. zonal says that in
        ResolvedRefs alone.""",
    "ListenerSetMixedProtocolConflict": "wants `ProtocolConflict` where zonal says `HostnameConflict`.",
    "ListenerSetProtocolAndRouteKindConflicts": """
        takes TLS for a hostname beside HTTPS without one for a conflict, and GatewayHTTPSAndTLSPassthroughSamePort
        wants both served. zonal serves both.""",
}
"""What tests ask otherwise than zonal answers. All are proposed and in no release. Their cases ask for the rest."""

_FILES: Final = ("gateway_api", "gateway_suite")


def cases_by_test() -> dict[str, list[str]]:
    """The identifiers of the cases that restate each test, sorted."""
    found: dict[str, list[str]] = {}
    for case in (each for name in _FILES for each in all_cases(name)):
        kind, _, test = case.source.partition(": ")
        if kind == "test":
            found.setdefault(test.partition(" (")[0], []).append(case.id)
    return {test: sorted(ids) for test, ids in found.items()}


def extended_features(test: str) -> tuple[str, ...]:
    """The features beyond the core that a test of v1.6 asks for; empty: it is one of the core."""
    found = tuple(feature for feature, names in _EXTENDED.items() if test in names.split())
    return (*found, "ListenerSet") if test.startswith("ListenerSet") else found
