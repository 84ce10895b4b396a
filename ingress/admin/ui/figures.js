// The figures that pages show, made of what the events have told. No DOM, no network, no clock.

import { key } from "./state.js";

export const MONTH_SECONDS = 30 * 86400; // as in `zonal top` and in the dashboards

const count = (row, locality) => row.requests?.[locality] ?? 0;
const requestsOf = (row) => count(row, "local") + count(row, "remote") + count(row, "unknown");

// The figures of one Service: `samples` are its counters over time.
export function serviceFigures(samples, state) {
  const { at, bounds } = state;
  const row = samples.last;
  const rate = (read) => samples.rate(at, state.serviceBegin, read);
  const local = rate((each) => count(each, "local"));
  const remote = rate((each) => count(each, "remote"));
  const requests = rate(requestsOf);
  const latency = durations(samples, state);
  return {
    row,
    name: key(row),
    requests,
    local,
    remote,
    localShare: local + remote > 0 ? local / (local + remote) : null,
    errors: rate((each) => each.errors ?? 0),
    p99: quantile(latency.all, 0.99, bounds),
    p50: quantile(latency.all, 0.5, bounds),
    p99Local: quantile(latency.local, 0.99, bounds),
    p99Remote: quantile(latency.remote, 0.99, bounds),
    dollars: rate((each) => each.dollars ?? 0) * MONTH_SECONDS,
    saved: rate((each) => (each.blind_dollars ?? 0) - (each.dollars ?? 0)) * MONTH_SECONDS,
    retries: rate((each) => each.retries ?? 0),
    endpoints: (row.zones ?? []).reduce((sum, zone) => sum + (zone.ready ?? 0), 0),
    spill: row.spill_ratio ?? null,
    sick: row.sick_zones ?? [],
  };
}

function durations(samples, state) {
  const from = samples.window(state.at, state.latencyBegin);
  const grown = (locality) => {
    const after = samples.last?.durations?.[locality] ?? [];
    const before = from?.value.durations?.[locality] ?? [];
    return after.map((value, index) => Math.max(0, value - (before[index] ?? 0)));
  };
  const local = grown("local");
  const remote = grown("remote");
  const longer = local.length >= remote.length ? local : remote;
  return { local, remote, all: longer.map((_, index) => (local[index] ?? 0) + (remote[index] ?? 0)) };
}

// The duration below which `share` of the requests are, interpolated inside its bucket; null without requests.
function quantile(counts, share, bounds) {
  const wanted = counts.reduce((sum, value) => sum + value, 0) * share;
  if (!wanted) return null;
  let below = 0;
  for (let index = 0; index < bounds.length; index += 1) {
    const value = counts[index] ?? 0;
    if (value && below + value >= wanted) {
      const low = index ? bounds[index - 1] : 0;
      return low + ((bounds[index] - low) * (wanted - below)) / value;
    }
    below += value;
  }
  return bounds[bounds.length - 1];
}

// The zones with the own zone first and the unknown one last, and the flows between them.
export function matrix(state) {
  const own = state.replica.own_zone || "unknown";
  const flows = [...state.flows.values()].map((samples) => flowFigures(samples, state));
  const names = new Set(state.zones.map((zone) => zone.name));
  for (const flow of flows) {
    names.add(flow.from);
    if (flow.requests > 0) names.add(flow.to);
  }
  const order = [...names].sort((a, b) => (b === own) - (a === own) || (a === "unknown") - (b === "unknown") || (a < b ? -1 : 1));
  const total = flows.reduce((sum, flow) => sum + flow.requests, 0);
  return { own, order, flows, total, zones: new Map(state.zones.map((zone) => [zone.name, zone])) };
}

function flowFigures(samples, state) {
  const flow = samples.last;
  const rate = (read) => samples.rate(state.at, state.zoneBegin, read);
  const sent = rate((each) => each.sent_bytes ?? 0);
  const received = rate((each) => each.received_bytes ?? 0);
  const perSecond = (sent * (flow.sent_price ?? 0) + received * (flow.received_price ?? 0)) / 1e9;
  return {
    from: flow.from_zone,
    to: flow.to_zone,
    requests: rate((each) => each.requests ?? 0),
    errors: rate((each) => each.errors ?? 0),
    bytes: sent + received,
    dollars: perSecond * MONTH_SECONDS,
  };
}

// The figures of the whole replica for the tiles, over the seconds of the matrix.
export function summary(state) {
  const recent = state.timeline.filter((point) => point.at_epoch_seconds > state.zoneBegin);
  const seconds = recent.reduce((sum, point) => sum + point.seconds, 0);
  const mean = (name) => (seconds ? recent.reduce((sum, point) => sum + (point[name] ?? 0) * point.seconds, 0) / seconds : 0);
  const worst = (name) => recent.reduce((most, point) => (point[name] == null ? most : Math.max(most ?? 0, point[name])), null);
  const local = mean("local");
  const remote = mean("remote");
  const unknown = mean("unknown");
  const all = local + remote + unknown;
  return {
    requests: all,
    localShare: local + remote > 0 ? local / (local + remote) : null,
    unknown,
    errors: mean("errors"),
    errorShare: all ? mean("errors") / all : 0,
    spillShare: mean("picks") ? mean("spilled") / mean("picks") : 0,
    p99Local: worst("p99_local"),
    p99Remote: worst("p99_remote"),
    dollars: mean("dollars") * MONTH_SECONDS,
    blind: mean("blind_dollars") * MONTH_SECONDS,
  };
}
