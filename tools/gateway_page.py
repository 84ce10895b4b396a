"""Makes docs/gateway.md: how Gateways are served, and the table of features."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill

from ingress.translation.gateway.annotations import ROUTE_ANNOTATIONS
from ingress.translation.gateway.features import FEATURES, ROUTES_BY_PROTOCOL, ROUTES_WHERE_TLS_ENDS
from tools.places import DOCS

_PAGE = """\
# Gateway API

Made by `make docs` from `tools/gateway_page.py`, with the tables of `ingress/translation/gateway/features.py`;
do not edit.

zonal reads Gateway API v1 beside Ingress: GatewayClass, Gateway, ListenerSet, HTTPRoute, GRPCRoute, TLSRoute, TCPRoute,
UDPRoute, ReferenceGrant and BackendTLSPolicy, from the API server or from a folder of manifests. Zones, health, retries
and metrics are the same as for an Ingress.

```console
$ zonal run --source manifests --gateway-ports 80=8000,443=8444
$ curl -s http://127.0.0.1:10254/debug/gateway
```

`--gateway-ports` says which port of this process stands for which port of a Gateway. Without the option objects of
Gateway API are not read, and nothing about them costs anything. A GatewayClass is ours if its `controllerName` is
`zonal-ingress.io/controller`. The [tutorial](tutorial-gateway.md) shows it at work on one machine.

## In a cluster

```console
$ kubectl apply -f deploy/manifests/rbac-gateway.yaml -f deploy/manifests/networkpolicy-gateway.yaml
$ zonal run --gateway-ports 20000-20063 --publish-service zonal/zonal
```

With a range of ports each Gateway may have any port, and has a Service of its own in the namespace of zonal
([decision](adr/0036-a-service-for-each-gateway.md)). Two Gateways on port 80 never meet. The NetworkPolicy lets
clients reach the ports of this range, which a cluster that enforces policies shuts otherwise: write another range
there. The value `gateway.enabled` of the chart does all of this.

| option | what it does |
|---|---|
| `--gateway-ports 20000-20063` | as many ports of Gateways as the range has; beyond, listeners say `PortUnavailable` |
| `--gateway-addresses load-balancer` | the type of the Services; also `node-port`, `cluster-ip`, `shared` |
| `--gateway-external-ips 203.0.113.0/28` | addresses that `spec.addresses` may name, for externalIPs |
| `--gateway-aliases cluster.local` | an alias of each Gateway in its own namespace (below) |
| `--one-namespace-per-hostname` | a hostname, with narrower ones, belongs to the namespace of the oldest route |
| `--publish-service NS/NAME` | the Service of zonal's pods, whose selector the Services of Gateways have |

* The leader writes the statuses once every worker of its replica serves the model. `Programmed` is true with a port
  in the Service and an address. Until then its reason is `Pending`, `AddressNotAssigned` or `AddressNotUsable`.
* Addresses are those of the load balancer and externalIPs, else those of nodes (`node-port`), else that of the
  cluster (`cluster-ip`).
* A Gateway that asks for addresses by value has those of them that it gets, and no others, in its status.
* Labels and annotations of `spec.infrastructure` are those of the Service. With `--gateway-aliases` a second Service
  has them, too: of type ExternalName, in the namespace of the Gateway, which owns it, under the same name. Whoever
  lives there reaches the Gateway by that name. The leader then needs the right to write Services there
  ([permissions](install.md#permissions)).
* Listeners of one port whose hostnames overlap have the condition `OverlappingTLSConfig`: a browser may send a request
  for one of them on a connection of the other, and gets 421.
* Conditions and entries of other controllers stay as they are. A finding `StatusContested` names who changes ours.
* A GatewayClass has `SupportedVersion` by the version of the definitions, and a finalizer while Gateways use it.

## Shared ports

With `P=Q` ports all Gateways share them. Equal listeners of two Gateways conflict, and the older Gateway keeps its own.
Inside one Gateway nobody wins: all listeners that collide are closed.

## What becomes of objects

* `/debug/gateway` shows what the status of each object should say. Whatever a status says is not served is a
  finding, too.
* A rule that cannot be carried out keeps its place: its requests get 500, and never the next rule. The route has
  the condition `PartiallyInvalid`, or is not accepted if no rule is left.
* A backend that may not be asked or does not exist answers 500 for exactly its share; one without ready endpoints
  answers 503.
* A BackendTLSPolicy that cannot be carried out closes its backend (500), which the route says in its status
  (`ResolvedRefs` false, `InvalidBackendTLS`). A certificate of `tls.backend` that cannot be shown closes it, too. One
  of the `subjectAltNames` of a policy is enough.
* A handshake for which no listener of its port has a certificate is refused: where the certificate of the listener
  cannot be used, and for a name that no listener has. No self-signed certificate is shown, unlike for Ingresses.
* Clients of a listener with `tls.frontend` need a certificate of its authorities, or their handshake fails. With
  `AllowInsecureFallback` everybody gets in.
* Regular expressions are those of RE2. They must match all of a path, header field or query parameter, and case counts.
  What they may cost is [bounded and divided among namespaces](security.md#what-one-tenant-can-cost-another): a route
  beyond that is not accepted (`UnsupportedValue`). A path of more than 256 bytes that begins like a
  [wide one](settings.md#paths-that-are-regular-expressions) gets 414 if to search it would take more than 2 ms.
* Mirrors get copies as their Service wants to be spoken to: in HTTP/1.1 or HTTP/2, with TLS where a policy says so.
  Of one request at most four Services get copies, two of them at once.
* With `--one-namespace-per-hostname`, a listener of a ListenerSet, or of another Gateway on a shared port, is
  `Conflicted` if its hostname belongs to another namespace and no older route has it.
* Findings name what no status can say: `HostnameShared` (two namespaces claim a name of one listener), `Shadowed` (a
  rule that gets no request), `RedirectLoop`, `MatchUnreadable` (a rule that cannot be carried out and has no place
  either, so that others take its requests). All routes together may have 1,000,000 conditions; beyond that the
  youngest are not accepted. One route may have 8,192 hostnames on its listeners, and all
  together 500,000, which namespaces share; younger routes of a namespace that has used up its share are not accepted.
* `tls.options` of a listener may have `zonal-ingress.io/tls-min-version` (`TLSv1_2`, `TLSv1_3`). It cannot allow what
  the operator's `ssl-protocols` forbids. Any other option refuses the listener (`UnsupportedValue`).
* Calls of gRPC that come in HTTP/2 go on in HTTP/2 on an HTTPRoute, too.
* The filter `ExternalAuth` (experimental) asks a Service over HTTP, with the method, host and path of the client, and
  with `Authorization` and the fields in `allowedHeaders`. 200 lets the request pass. The client gets any other answer
  below 500, and else 500. `protocol: GRPC` and `forwardBody` close the rule.
* `backendRefs` take every filter that their rule takes. They are for the share of their backend alone and come after
  those of the rule: a URLRewrite or CORS filter there counts in place of the rule's. A filter that cannot be carried
  out closes its rule; an `ExtensionRef` that cannot be resolved closes its backend (500).
* A redirect and X-Forwarded-Port name the port of the listener, not that of the process.
* Gateway API knows no bound of bodies: `proxy-body-size` counts for routes only if the ConfigMap or an annotation
  sets it.

## Annotations of routes

Routes take the annotations of Services: `zonal-ingress.io/zone-policy` and its kin ([zones.md](zones.md)), ejection,
health checks and concurrency. HTTPRoutes and GRPCRoutes also take what Gateway API has no field for. The values are
those of the annotations of Ingresses by the same name ([settings.md](settings.md)); a protection that cannot be read
closes the route (503):

{annotations}

## Zone policies

Annotations of a Gateway (`zonal-ingress.io/zone-policy` and its kin) are defaults for all its requests. `ZonePolicy`
(`deploy/manifests/crd-zonepolicy.yaml`, in the chart `gateway.zonePolicies`) attaches the same settings to a Gateway, a
listener, a route, a named rule, an Ingress, a Service or a named port of a Service, in the policy's namespace (GEP-713,
Inherited):

```yaml
apiVersion: zonal-ingress.io/v1alpha1
kind: ZonePolicy
metadata: {{name: stay, namespace: shop}}
spec:
  targetRefs:
    - {{group: gateway.networking.k8s.io, kind: HTTPRoute, name: cart}}
  defaults: {{policy: prefer-zone, minEndpoints: 2}}
```

Strongest first: `overrides` of the Gateway, then of the listener · policies of the rule, of the route · annotations of
the route · policies of the port of the Service, of the Service · annotations of the Service · `defaults` of the
listener, then of the Gateway · annotations of the Gateway · the ConfigMap. Each field is decided for itself.

Requests of an Ingress: policies of the Ingress (`group: networking.k8s.io, kind: Ingress`) · its annotations · policies
of the port of the Service, of the Service · annotations of the Service · the ConfigMap. A Service that Ingresses and
Gateways name has the same policies for both. From the API server policies are read where `--gateway-ports` is given,
with or without Gateways.

Of two policies with one target the older counts, and the other one is `Conflicted`. The status has an entry for each
Gateway and each Ingress that is a target: `Accepted`, with the reasons `Conflicted`, `TargetNotFound` and `Invalid`,
and `PartiallyInForce` if a policy of the Gateway overrides some of it. A policy that concerns nothing of ours is a
finding. Gateways and routes have the condition `zonal-ingress.io/ZonePolicyAffected` with the names of their policies.

## Hooks

```yaml
filters:
  - type: ExtensionRef
    extensionRef: {{group: zonal-ingress.io, kind: Hook, name: tenant}}
```

asks the hook `tenant` of the operator ([hooks.md](hooks.md)). Its settings stand in the annotation
`zonal-ingress.io/hook-tenant` of the route. A rule whose filter cannot be resolved answers 500: the route has the
condition `PartiallyInvalid` (or is not accepted), and `ResolvedRefs` is false with the reason `InvalidKind` for a kind
that zonal does not know, or `InvalidFilter` for a hook that is not registered or does not take the settings.

## From Ingresses

`zonal migrate DIR --to gateway -o OUT` writes objects of Gateway API for Ingresses of ingress-nginx, and lists every
request that would be answered differently ([migrate.md](migrate.md#to-gateway-api-instead)).

## Listeners

| protocol | routes |
|---|---|
{protocols}

## Streams

Connections of TCPRoutes and TLSRoutes are streams: their bytes go to one endpoint and back, without HTTP.

* A TLSRoute is found by the name in the ClientHello: exact names before wildcards, and of routes with one name that
  whose own hostname says most of it, then the oldest. The ClientHello may come in pieces and in up to 32 records,
  within 10 s, and may have 24 KiB. Whoever names nobody, says something else or takes longer is reset.
* With the mode `Passthrough` endpoints end TLS. With `Terminate` TLS ends here, and endpoints get what is inside; no
  protocol is agreed on by ALPN. There a TCPRoute has every name of the listener. With a BackendTLSPolicy, connections
  to endpoints of such a listener, and those of a TCPRoute, are TLS. Listeners of both modes and of HTTPS may stand on
  one port with different hostnames.
* A share without a Service that may be asked is reset at once, and so is a connection for which there is no endpoint
  or no room (`max-concurrency` counts streams). Nothing takes over a share.
* An endpoint that refuses or does not answer is followed by another one, as long as `proxy-next-upstream-tries` and
  the budget of retries allow: nothing was sent before. `proxy-connect-timeout` is the time of the last one.
* Zone policies, ejection, `least_request` and costs count streams as they count requests. `adaptive` and `ewma` go
  by the time that endpoints take to accept.
* Both sides may end their half. Where TLS ends here, the goodbye of one side ends both. A stream on which nothing
  passes for `stream-idle-timeout` (ConfigMap, 10 minutes) is reset.
* A stream stays with its endpoint when its route changes or goes. If it goes to a Service of another namespace, it is
  reset as soon as no route of the same owner may name that Service any more. Streams of a port that is gone, and of a
  worker that ends, have the time that tunnels have.
* The annotation `zonal-ingress.io/send-proxy-protocol: "v2"` of a Service lets streams to it begin with a PROXY
  header of version 2.
* The access log has a line for each stream at its end: `protocol` is `TCP` or `TLS`, `host` the name of the
  ClientHello, `bytes_in` and `bytes_out` what came from client and endpoint, `endpoint_duration` the time to connect,
  `status` as in nginx's stream module (200, 404, 500, 502, 503, 504). Metrics: `zonal_stream_*`; bytes, costs and
  decisions of zones count with those of requests.

## Ports of TCP

`--tcp-services-configmap NAMESPACE/NAME` leads ports to Services, as in ingress-nginx. The ConfigMap has a
line for each port: `PORT: "NAMESPACE/SERVICE:PORT"`, with the port of the Service by number or name. `:PROXY`
behind it says that clients begin with a PROXY header, `::PROXY` that endpoints get one (version 1, as nginx
sends it), and `:PROXY:PROXY` both.

* Lines come and go without a restart. Each needs a bound port: with `--gateway-ports 5432=15432` that one;
  with a range, the Service of `--publish-service` says it, by a port 5432 whose `targetPort` is a number of
  the range. Gateways leave these numbers alone, and a port that Gateways share belongs to the line. A NetworkPolicy
  must let clients reach the bound port ([in a cluster](#in-a-cluster)).
* `--gateway-addresses none` binds ports for lines alone: Gateway API is not read.
* A stream of a line that has gone has the time that tunnels have. Everything else is as for the streams of a
  TCPRoute.
* `TcpServiceInvalid`, `PortUnavailable` and `ServiceMissing` name a line that is not served, and what to
  change. Other lines are served.
* zonal serves no UDP: `--udp-services-configmap` is a finding (`UdpNotServed`). Listeners of UDP are refused
  (`UnsupportedProtocol`), and UDPRoutes are read only to say so in their status (`NotAllowedByListeners`).

## Under change

`make gateway-churn` lets listeners and routes come and go under load, beside two replicas with two workers each on a
fake API server, kills a worker every 15 s and the leader at half time. A client tries a broken kept connection again
on a new one, and a broken new one once more. On two cores, with 20 listeners and 5,000 routes, 7,124 changes of routes
and 59 of listeners, 38 killed workers and a killed leader (the first row; the second is an older run):

| run | routes that stay | wrong answers | statuses right after | writes while quiet |
|---|---|---|---|---|
| 10 minutes at 500 requests/s | 0 failed; p50 2 ms, p99 8 ms of all | 0 of 300,000 | 3 s | 0 in 30 s |
| 90 s at 100 requests/s, 1,000 routes | 0 failed; p50 1 ms, p99 60 ms of all | 0 of 8,999 | 1 s | 0 in 10 minutes |

A killed process takes the requests with it that it has begun to read: 660 of the attempts in this run, all of them on
kept connections. A connection that nobody has accepted yet waits for the successor.

With `ARGS="--changes 1700 --kills 0 --calm-seconds 20 --seconds 40 --rate 100 --time-scale 1 --workers 1"` a process of
its own asks for routes that stay, so that its requests wait for the replicas alone. 1,020 of 5,000 routes came, changed
or went in a second, beside two compiled replicas at their usual times (15fbdf9e): p99 was 4.8 ms, and 2.8 ms before
the changes began. Statuses were right 20.8 s after the last change. No answer was older than 10 s, none failed for a
route that stays, nothing was written afterwards, and both replicas answered for each of the routes as it was at the
end. Models follow twice a second, however many routes change: the control processes used 0.35 and 0.21 cores. Both
replicas, the API server, clients and endpoints share the two cores.

[The bench of the control plane](performance-control.md) measures one replica on a core of its own, against as many
changes of what nobody follows: p99 of requests is 1.7 times as long while 1,000 routes change in each second (the bar
is 2), and 1.2 times with two workers, and no request fails while 100 listeners go and come.

## How fast statuses come

The leader writes 100 statuses a second, eight at once, those of what changed last first. A pause is made up for by up
to 100 more. A Gateway is written once a second at most. 5,000 routes and 500 ListenerSets that were there when it
started had all their statuses 56 s after it served them (5,522 writes, 100 in each second, 0.16 cores of the control
process; load 5 on two cores), and 65 s at a load of 16. The status of a route that changed meanwhile came after 0.28 to
0.41 s (28 changes, load 9). Through 107 steps of the restated conformance tests, beside a fake API server, what each
wants of statuses was there after 0.1 s in the middle, 1.1 s in nine of ten and 3.0 s at most (load 5, 42315176; the
suite waits 60 s). A new version of the definitions was noticed after 20 s.

* That is what others allow their controllers: Cilium's operator makes 100 calls a second with bursts of 200
  (cilium/cilium#33821), Envoy Gateway and Traefik 50 with bursts of 100 (envoyproxy/gateway#5815,
  traefik/traefik#13277). A client that says nothing has 5 and 10.
* controller-runtime has no such bound any more and trusts the API server's priority and fairness
  (kubernetes-sigs/controller-runtime#3119). With the values that an API server has by default, calls of service
  accounts share 245 seats of 600, and eight at once take 3 % of them. The bound stays all the same: each write is one
  of etcd, too, and is sent to everybody who watches the routes.
* An API server that says 429 or 5xx ends the round for the namespace, for two namespaces the whole, and `Retry-After`
  is waited for.

## What a request costs

`.venv/bin/python -m typed --run -m tests.bench.hot_path` times whole requests without system and event loop, from the
bytes of the client to the line of the access log. Compiled, on the machine above, in microseconds:

| route | a request | added | bar |
|---|---|---|---|
| path and host | 4.50 | | |
| two fields among ten candidates | 4.91 | 0.41 | 2 |
| two query parameters among ten candidates | 4.97 | 0.47 | 3 |
| RequestHeaderModifier with set, add and remove | 4.97 | 0.47 | 1 |
| URLRewrite of a prefix | 4.95 | 0.45 | 1 |

To look up an HTTPRoute takes 0.26 µs and an Ingress 0.25 µs; to write a redirect takes 0.85 µs, and asks no endpoint.
A GET by an HTTPRoute takes 0.99 times the CPU of one by an Ingress (`make bench`, the case `route`; the bar is 1.03).

## Without it

A cluster without Gateways pays nothing for them: each case of `make bench` takes as much CPU as
[before there was Gateway API](typed.md#beside-earlier-commits), or less.

## Compared with others

What implementations have published for v1.6, as passed core + extended tests of each conformance profile. zonal has
never run the suite, which needs a cluster: own cases [restate each of its tests](gateway-suite.md), and
[known flaws](known-flaws.md#gateway-api) lists what is missing.

To have every extended feature claimed, and so tested, run the suite with the definitions of the experimental channel,
and install zonal with the values of `deploy/examples/conformance/values.yaml`. They let zonal read the suite's Secrets
and ConfigMaps; without the Secrets one of the suite's first Gateways is never `Programmed`, and no test begins. Replace
the network: a usable address for the suite is one of it, an unusable one any other. The suite makes more Gateways in
ten minutes than 64 ports allow that rest after use; hence the wider range.

| implementation | HTTP | gRPC | TLS | TCP |
|---|---|---|---|---|
| agentgateway | 37 + 57 | 15 + 10 | 20 + 15 | not published |
| kgateway | 37 + 56 | 15 + 10 | 20 + 15 | 19 + 10 |
| Envoy Gateway | 37 + 56 | 15 + 10 | 20 + 15 | not published |
| Traefik | 36 + 26 | 15 | 20 + 4 | not published |

## Features

A GatewayClass names these in its status, those that need something only where that is there:

| feature | what it is | needs |
|---|---|---|
{features}
"""


def files() -> dict[Path, str]:
    """The page."""
    return {DOCS / "gateway.md": markdown()}


def markdown() -> str:
    """The text of the page."""
    kinds_of = {**ROUTES_BY_PROTOCOL, "TLS in the mode Terminate": ROUTES_WHERE_TLS_ENDS}
    protocols = (f"| {name} | {', '.join(each.value for each in kinds)} |" for name, kinds in kinds_of.items())
    features = (f"| `{each.name}` | {each.meaning} | {each.needs.value if each.needs else ''} |" for each in FEATURES)
    annotations = fill(", ".join(f"`{name}`" for name in sorted(ROUTE_ANNOTATIONS)), 118, break_on_hyphens=False)
    return _PAGE.format(protocols="\n".join(protocols), features="\n".join(features), annotations=f"{annotations}.")
