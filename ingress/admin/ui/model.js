// What the page knows, and what it makes of it: rates, shares, quantiles and texts. No DOM, no network, no clock.

export const MONTH_SECONDS = 30 * 86400; // as in `zonal top` and in the dashboards
const KEPT_SECONDS = 40;
// A change has to show within two seconds, and a share of few requests would jump.
const ZONE_WINDOWS = [1, 3];
const ENOUGH_REQUESTS = 30;
const SERVICE_WINDOW = 5;
const LATENCY_WINDOW = 30;
const TIMELINE_SECONDS = 3600;

export const key = (row) => `${row.namespace}/${row.name}`;

// Values of counters over time. A counter that did not change has no sample, so the last one before a moment holds.
export class Samples {
  constructor() {
    this.list = [];
  }

  add(at, value) {
    this.list.push({ at, value });
    const oldest = at - KEPT_SECONDS;
    let drop = 0;
    while (drop + 1 < this.list.length && this.list[drop + 1].at <= oldest) drop += 1;
    if (drop) this.list.splice(0, drop);
  }

  get last() {
    return this.list.length ? this.list[this.list.length - 1].value : null;
  }

  // The value at `begin` and the seconds since then; null if nothing can be told yet.
  window(now, begin) {
    if (!this.list.length) return null;
    let from = this.list[0];
    for (const sample of this.list) {
      if (sample.at > begin) break;
      from = sample;
    }
    const length = now - Math.max(from.at, begin);
    return length > 0 ? { value: from.value, seconds: length } : null;
  }

  rate(now, begin, read) {
    const from = this.window(now, begin);
    return from ? Math.max(0, (read(this.last) - read(from.value)) / from.seconds) : 0;
  }
}

// Requests and errors of the server a second by path, from documents that come again and again.
export class RouteRates {
  constructor() {
    this.samples = new Map();
  }

  // The routes of a document. `requestRate` and `errorRate` are null until a second document has come.
  rows(told) {
    const known = this.samples, at = told.at_epoch_seconds;
    this.samples = new Map();
    return (told.routes ?? []).map((row, index) => {
      const samples = this.#sampled(known, row, at);
      const rate = (read) => (samples.list.length > 1 ? samples.rate(at, at - SERVICE_WINDOW, read) : null);
      return { ...row, name: `${row.host}${row.path} ${row.kind} ${index}`, requestRate: rate((one) => one.requests), errorRate: rate((one) => one.errors) };
    });
  }

  // Rows that have all names in common are counted together.
  #sampled(known, row, at) {
    const counted = [row.namespace, row.ingress, row.service, row.host, row.path, row.kind].join(" ");
    if (!this.samples.has(counted)) {
      const samples = known.get(counted) ?? new Samples();
      samples.add(at, { requests: row.requests ?? 0, errors: row.errors ?? 0 });
      this.samples.set(counted, samples);
    }
    return this.samples.get(counted);
  }
}

// Everything that the events of the server have told.
export class State {
  constructor() {
    this.reset();
  }

  reset() {
    this.at = 0;
    this.bounds = [];
    this.replica = { version: "" };
    this.zones = [];
    this.flows = new Map();
    this.services = new Map();
    this.timeline = [];
    this.findingCounts = {};
    this.findingsRevision = -1;
    this.moments = [];
    this.zoneBegin = this.serviceBegin = this.latencyBegin = 0;
  }

  take(event) {
    const restarted =
      this.replica.started_at_epoch_seconds && this.replica.started_at_epoch_seconds !== event.replica.started_at_epoch_seconds;
    if (restarted) this.reset();
    if (event.whole) {
      const told = new Set(event.services.map(key));
      for (const name of this.services.keys()) if (!told.has(name)) this.services.delete(name);
      this.bounds = event.bounds_seconds;
      this.timeline = [];
    }
    this.before = this.moments[this.moments.length - 1];
    this.at = event.at_epoch_seconds;
    this.replica = event.replica;
    this.zones = event.zones ?? [];
    this.findingCounts = event.finding_counts ?? {};
    this.findingsRevision = event.findings_revision ?? 0;
    for (const flow of event.flows ?? []) {
      const name = JSON.stringify([flow.from_zone, flow.to_zone]);
      if (!this.flows.has(name)) this.flows.set(name, this.#samples(event.whole, { ...flow, requests: 0, errors: 0, sent_bytes: 0, received_bytes: 0 }));
      this.flows.get(name).add(this.at, flow);
    }
    for (const name of event.gone ?? []) this.services.delete(name);
    for (const row of event.services ?? []) {
      const name = key(row);
      if (!this.services.has(name)) this.services.set(name, this.#samples(event.whole, { ...row, requests: {}, durations: {}, errors: 0, reasons: {}, dollars: 0, blind_dollars: 0 }));
      this.services.get(name).add(this.at, row);
    }
    this.timeline.push(...(event.timeline ?? []));
    const oldest = this.at - TIMELINE_SECONDS;
    while (this.timeline.length && this.timeline[0].at_epoch_seconds < oldest) this.timeline.shift();
    this.#remember();
  }

  // The windows of rates begin with an event, because between two events nobody knows when a counter grew.
  #remember() {
    this.serviceBegin = this.#begin(SERVICE_WINDOW);
    this.latencyBegin = this.#begin(LATENCY_WINDOW);
    for (const seconds of ZONE_WINDOWS) {
      this.zoneBegin = this.#begin(seconds);
      const grown = (samples) => samples.rate(this.at, this.zoneBegin, (flow) => flow.requests ?? 0) * (this.at - this.zoneBegin);
      if ([...this.flows.values()].reduce((sum, samples) => sum + grown(samples), 0) >= ENOUGH_REQUESTS) break;
    }
    this.moments.push(this.at);
    while (this.moments[0] < this.at - KEPT_SECONDS) this.moments.shift();
  }

  // The time of the event before this one that is closest to `seconds` ago.
  #begin(seconds) {
    const wanted = this.at - seconds;
    const closer = (one, other) => (Math.abs(other - wanted) < Math.abs(one - wanted) ? other : one);
    return this.moments.length ? this.moments.reduce(closer) : wanted;
  }

  // Something that came after the first event had counted nothing before.
  #samples(isWhole, nothing) {
    const samples = new Samples();
    if (!isWhole) samples.add(this.before, nothing);
    return samples;
  }
}

const count = (row, locality) => row.requests?.[locality] ?? 0;
export const requestsOf = (row) => count(row, "local") + count(row, "remote") + count(row, "unknown");

// One row of the table of Services.
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
export function quantile(counts, share, bounds) {
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

// The matrix: zones in order with the own zone first, and what flows between them.
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

// The last moments of the whole replica, for the tiles: the same as those of the matrix.
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

// What a person should know first: one sentence, and how bad it is.
export function verdict(state, figures) {
  const zone = state.replica.own_zone;
  const now = summary(state);
  if (state.replica.problem) return { tone: "bad", text: `This replica is not ready: ${state.replica.problem}.` };
  if (!zone) return { tone: "warn", text: "This replica does not know its own zone, so zones cannot count." };
  const sick = figures.flatMap((each) => each.sick.filter((zone) => zone.is_left && !zone.dry_run).map((zone) => ({ ...zone, name: each.name })));
  if (sick.length) {
    const worst = sick.reduce((most, each) => ((each.share ?? 0) > (most.share ?? 0) ? each : most));
    return { tone: "warn", text: `${worst.zone} is sick: ${percent(worst.share ?? 0)} of the requests for ${worst.name} avoid it.` };
  }
  if (now.errorShare > 0.01) return { tone: "bad", text: `${percent(now.errorShare)} of the requests get an error.` };
  if (now.requests === 0) return { tone: "calm", text: "No requests at the moment." };
  const leaving = figures.filter((each) => each.row.mode === "general" && each.remote > 0 && each.row.reason !== "off" && !each.row.dry_run);
  if (leaving.length) {
    const worst = leaving.reduce((most, each) => (each.remote > most.remote ? each : most));
    const who = leaving.length === 1 ? worst.name : `${leaving.length} Services`;
    return { tone: "warn", text: `${who} ${leaving.length === 1 ? "uses" : "use"} every zone. ${worst.row.reason_text}` };
  }
  if (now.localShare === null) return { tone: "calm", text: "No request reaches an endpoint." };
  if (now.localShare >= 0.995) return { tone: "good", text: `Every request stays in ${zone}.` };
  const tried = figures.filter((each) => each.row.tried_text && each.remote > 0).sort((a, b) => b.requests - a.requests);
  if (tried.length) {
    const more = tried.length > 1 ? ` (and ${tried.length - 1} more Services in a dry run)` : "";
    return { tone: "calm", text: `${tried[0].name}: ${tried[0].row.tried_text}${more}.` };
  }
  const off = figures.some((each) => each.row.reason === "off" && each.remote > 0);
  if (off) return { tone: "calm", text: "Zones do not count for some Services, so their requests go to every zone." };
  return { tone: "calm", text: `${percent(now.localShare)} of the requests stay in ${zone}.` };
}

// What is known about a zone whose answers fail, in words.
export function sickText(zone) {
  const failed = (bad, all) => (all ? `${percent((bad ?? 0) / all)} of ${number(all)} answers` : "no answer yet");
  const avoids = zone.dry_run ? `dry run: ${percent(zone.share ?? 0)} would avoid it` : `${percent(zone.share ?? 0)} of the requests avoid it${zone.staying ? ` (not those of ${zone.staying})` : ""}`;
  return `${zone.zone} (${zone.state}): ${avoids}, for ${age(zone.seconds ?? 0)}. Failed lately: ${failed(zone.failed, zone.answers)}; in other zones ${failed(zone.other_failed, zone.other_answers)}.`;
}

// Texts.

const plain = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const one = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const money = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
const wholeMoney = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", maximumFractionDigits: 0 });

export const NOTHING = "–";

export function number(value) {
  return value >= 100000 ? compact.format(value) : plain.format(value);
}

export function rateText(value) {
  if (value === 0) return "0";
  return value < 10 ? one.format(value) : number(value);
}

export function percent(share) {
  if (share === null || share === undefined) return NOTHING;
  const value = share * 100;
  if (value > 0 && value < 1) return "< 1 %";
  if (value > 99 && value < 100) return "> 99 %";
  return `${Math.round(value)} %`;
}

export function bytesText(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 && unit ? one.format(value) : plain.format(value)} ${units[unit]}`;
}

export function dollars(value) {
  const size = Math.abs(value);
  if (size > 0 && size < 0.005) return value < 0 ? "−< $0.01" : "< $0.01";
  return (size >= 1000 ? wholeMoney : money).format(value);
}

export function secondsText(value) {
  if (value === null || value === undefined) return NOTHING;
  if (value < 0.001) return `${plain.format(value * 1e6)} µs`;
  if (value < 0.01) return `${one.format(value * 1e3)} ms`;
  return value < 1 ? `${plain.format(value * 1e3)} ms` : `${one.format(value)} s`;
}

export function age(seconds) {
  if (!Number.isFinite(seconds) || seconds < 0) return NOTHING;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} days`;
}

export function daysLeft(epochSeconds, now) {
  return Math.floor((epochSeconds - now) / 86400);
}

// Rows whose text contains every word.
export function matching(rows, words, textOf) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return rows;
  return rows.filter((row) => {
    const text = textOf(row).toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
}

// Sorted by a column; empty values come last in both directions, and equal ones by name.
export function sorted(rows, read, direction) {
  const of = (row) => read(row) ?? null;
  return [...rows].sort((a, b) => {
    const [left, right] = [of(a), of(b)];
    if (left === null || right === null) return (left === null) - (right === null);
    const order = left < right ? -1 : left > right ? 1 : 0;
    return order * direction || (a.name < b.name ? -1 : 1);
  });
}
