// One Service: why its requests go where they go, its endpoints and its routes.

import { el, replace, text } from "./dom.js";
import { pill, modePill, shareBar, zoneChips, heading, load, facts } from "./parts.js";
import { routesTable } from "./route_table.js";
import { RouteRates } from "./samples.js";
import { Table } from "./table.js";
import * as texts from "./texts.js";
import { sickText } from "./verdict.js";

const STATES = { ready: "good", draining: "calm", ejected: "warn", fails_checks: "bad" };

export class ServiceView {
  title = "Service";

  constructor(name) {
    this.name = name;
    this.head = el("div");
    this.reasons = el("div");
    this.changes = el("ol", { class: "changes" });
    this.rates = new RouteRates();
    this.routes = routesTable("Routes of this Service", "No route leads to this Service now.");
    this.endpoints = new Table({
      caption: "Endpoints of this Service",
      sort: 1,
      empty: () => "The Service has no endpoint, so its requests are answered with 503.",
      columns: [
        { title: "Address", sort: (row) => row.address, cell: (row) => el("code", null, row.address) },
        { title: "Zone", sort: (row) => row.zone ?? "", cell: (row) => row.zone || el("span", { class: "muted" }, "unknown") },
        { title: "State", sort: (row) => row.state ?? "ready", cell: (row) => endpointState(row) },
        { title: "Pod", sort: (row) => row.pod ?? "", level: 2, cell: (row) => row.pod || texts.NOTHING },
        { title: "Node", sort: (row) => row.node ?? "", level: 2, cell: (row) => row.node || texts.NOTHING },
        { title: "In flight", sort: (row) => row.in_flight ?? 0, number: true, level: 2, cell: (row) => texts.number(row.in_flight ?? 0) },
        { title: "Latency", sort: (row) => row.latency_seconds ?? null, number: true, level: 3, cell: (row) => texts.secondsText(row.latency_seconds) },
      ],
    });
    this.problem = el("p", { class: "muted", role: "status" });
    this.node = el(
      "div",
      { class: "service" },
      el("p", { class: "crumbs" }, el("a", { href: "#/services" }, "Services"), " / ", name),
      this.head,
      el("div", { class: "halves" }, el("section", { class: "card" }, el("h2", null, "Why requests go where they go"), this.reasons), el("section", { class: "card" }, el("h2", null, "Last changes of the mode"), this.changes)),
      el("section", { class: "card flush" }, el("h2", null, "Endpoints"), this.endpoints.node),
      el("section", { class: "card flush" }, el("h2", null, "Routes"), this.routes.node),
      this.problem,
    );
  }

  opened() {
    this.#load();
    this.timer = setInterval(() => this.#load(), 2000);
  }

  closed() {
    clearInterval(this.timer);
  }

  async #load() {
    try {
      const told = await load("routes,endpoints", this.name);
      text(this.problem, "");
      this.routes.show(this.rates.rows(told));
      this.endpoints.show((told.endpoints ?? []).map((row) => ({ ...row, name: `${row.port} ${row.address}` })));
    } catch (error) {
      text(this.problem, `Endpoints and routes cannot be read: ${error.message}.`);
    }
  }

  update(state, figures) {
    const each = figures.find((one) => one.name === this.name);
    if (!each) {
      replace(this.head, heading(this.name), el("p", { class: "empty" }, "No route leads to this Service now."));
      replace(this.reasons, texts.NOTHING);
      replace(this.changes);
      return;
    }
    const { row } = each;
    replace(
      this.head,
      heading(this.name, modePill(row)),
      each.sick.map((zone) => el("p", { class: "sick" }, pill("warn", "sick zone"), " ", sickText(zone))),
      el("p", { class: "lead" }, row.reason_text || "The Service has no endpoint."),
      facts([
        ["Policy", `${row.policy ?? "off"}${row.dry_run ? " (dry run)" : ""}${(row.rollout_percent ?? 100) < 100 ? `, for ${row.rollout_percent} % of requests` : ""}`],
        ["What the dry run says", row.tried_text || null],
        ["Requests", `${texts.rateText(each.requests)} a second`],
        ["Stay in the own zone", shareBar(each.localShare)],
        ["Errors", `${texts.rateText(each.errors)} a second`],
        ["p50 / p99", `${texts.secondsText(each.p50)} / ${texts.secondsText(each.p99)}`],
        ["p99 own / other zones", `${texts.secondsText(each.p99Local)} / ${texts.secondsText(each.p99Remote)}`],
        ["Spill", row.spill_ratio === undefined ? null : texts.percent(row.spill_ratio)],
        ["Expected load in the own zone", row.expected_load === undefined ? null : `${row.expected_load.toFixed(1)} × the average`],
        ["Between zones", `${texts.dollars(each.dollars)} a month`],
        ["Against zone-blind", each.saved >= 0 ? `saves ${texts.dollars(each.saved)} a month` : `${texts.dollars(-each.saved)} more a month`],
        ["Retries", each.retries ? `${texts.rateText(each.retries)} a second` : null],
        ["Ready endpoints", zoneChips(row.zones, state.replica.own_zone)],
      ]),
    );
    replace(this.reasons, this.#reasons(row));
    const changes = [...(row.changes ?? [])].reverse();
    replace(this.changes, changes.map((change) => el("li", null, el("time", null, `${texts.age(state.at - change.at_epoch_seconds)} ago`), modePill(change), el("code", null, change.reason || ""))));
  }

  #reasons(row) {
    const counts = Object.entries(row.reasons ?? {}).sort((a, b) => b[1] - a[1]);
    const total = counts.reduce((sum, [, value]) => sum + value, 0);
    if (!total) return el("p", { class: "empty" }, "No request has had an endpoint of this Service yet.");
    return el("ul", { class: "bars" }, counts.map(([reason, value]) => el("li", null, el("code", null, reason), shareBar(value / total, "neutral"), el("span", { class: "muted number" }, texts.number(value)))));
  }
}

function endpointState(row) {
  const state = row.state ?? "ready";
  const words = [state.replace("_", " ")];
  if (row.workers) words.push(`in ${row.workers} ${row.workers === 1 ? "worker" : "workers"}`);
  if (row.ejected_seconds) words.push(`for ${texts.age(row.ejected_seconds)} more`);
  return pill(STATES[state] ?? "calm", words.join(" "));
}
