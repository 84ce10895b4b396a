// Values of counters over time, and the rates between two moments. No DOM, no network, no clock.

export const KEPT_SECONDS = 40;
export const SERVICE_WINDOW = 5; // seconds over which the rates of Services and routes are told

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

  // The value at `begin` and the seconds from then to `now`; null before there are two moments.
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

// Requests and server errors a second of each route, from documents that come again and again.
export class RouteRates {
  constructor() {
    this.samples = new Map();
  }

  // The routes of a document. `requestRate` and `errorRate` are null until a second document has come.
  rows(told) {
    const known = this.samples;
    const at = told.at_epoch_seconds;
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
