// What the events of the server have told. No DOM, no network, no clock.

import { KEPT_SECONDS, SERVICE_WINDOW, Samples } from "./samples.js";

// A change has to show within two seconds, and a share of few requests would jump.
const ZONE_WINDOWS = [1, 3];
const ENOUGH_REQUESTS = 30;
const LATENCY_WINDOW = 30;
const TIMELINE_SECONDS = 3600;

// Counters before the first request.
const NO_FLOW = { requests: 0, errors: 0, sent_bytes: 0, received_bytes: 0 };
const NO_REQUESTS = { requests: {}, durations: {}, errors: 0, retries: 0, reasons: {}, dollars: 0, blind_dollars: 0 };

export const key = (row) => `${row.namespace}/${row.name}`;

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
    this.zoneBegin = 0;
    this.serviceBegin = 0;
    this.latencyBegin = 0;
  }

  take(event) {
    const began = this.replica.started_at_epoch_seconds;
    if (began && began !== event.replica.started_at_epoch_seconds) this.reset();
    if (event.whole) this.#begin(event);
    this.before = this.moments[this.moments.length - 1];
    this.at = event.at_epoch_seconds;
    this.replica = event.replica;
    this.zones = event.zones ?? [];
    this.findingCounts = event.finding_counts ?? {};
    this.findingsRevision = event.findings_revision ?? 0;
    for (const flow of event.flows ?? []) this.#add(this.flows, JSON.stringify([flow.from_zone, flow.to_zone]), flow, NO_FLOW, event.whole);
    for (const name of event.gone ?? []) this.services.delete(name);
    for (const row of event.services ?? []) this.#add(this.services, key(row), row, NO_REQUESTS, event.whole);
    this.timeline.push(...(event.timeline ?? []));
    const oldest = this.at - TIMELINE_SECONDS;
    while (this.timeline.length && this.timeline[0].at_epoch_seconds < oldest) this.timeline.shift();
    this.#remember();
  }

  // The first event of a connection has every Service that there is, and the whole time line.
  #begin(event) {
    const told = new Set((event.services ?? []).map(key));
    for (const name of this.services.keys()) if (!told.has(name)) this.services.delete(name);
    this.bounds = event.bounds_seconds;
    this.timeline = [];
  }

  // Something that came after the first event had counted `nothing` before.
  #add(known, name, row, nothing, isWhole) {
    if (!known.has(name)) {
      known.set(name, new Samples());
      if (!isWhole) known.get(name).add(this.before, { ...row, ...nothing });
    }
    known.get(name).add(this.at, row);
  }

  // The windows of rates begin with an event, because between two events nobody knows when a counter grew.
  #remember() {
    this.serviceBegin = this.#momentBefore(SERVICE_WINDOW);
    this.latencyBegin = this.#momentBefore(LATENCY_WINDOW);
    for (const seconds of ZONE_WINDOWS) {
      this.zoneBegin = this.#momentBefore(seconds);
      const grown = (samples) => samples.rate(this.at, this.zoneBegin, (flow) => flow.requests ?? 0) * (this.at - this.zoneBegin);
      if ([...this.flows.values()].reduce((sum, samples) => sum + grown(samples), 0) >= ENOUGH_REQUESTS) break;
    }
    this.moments.push(this.at);
    while (this.moments[0] < this.at - KEPT_SECONDS) this.moments.shift();
  }

  // The time of the earlier event that is closest to `seconds` ago.
  #momentBefore(seconds) {
    const wanted = this.at - seconds;
    const closer = (one, other) => (Math.abs(other - wanted) < Math.abs(one - wanted) ? other : one);
    return this.moments.length ? this.moments.reduce(closer) : wanted;
  }
}
