// All replicas together, as this one knows them: who there is, and the traffic of all of them from zone to zone.

import { el, replace, text } from "./dom.js";
import { MONTH_SECONDS } from "./figures.js";
import { heading, load, pill } from "./parts.js";
import { Table } from "./table.js";
import * as texts from "./texts.js";

const EVERY_MS = 2000;
const KEPT_MS = 15000;

const sum = (flows, read) => flows.reduce((total, flow) => total + (read(flow) ?? 0), 0);
const pair = (flow) => JSON.stringify([flow.from_zone, flow.to_zone]);

export class FleetView {
  title = "Fleet";

  constructor() {
    this.told = [];
    this.count = el("p", { class: "muted", role: "status" });
    this.notes = el("ul", { class: "changes" });
    this.flows = new Table({
      caption: "Traffic of all replicas from zone to zone",
      sort: 0,
      empty: () => "No replica has had a request yet.",
      columns: [
        { title: "From", sort: (row) => row.from_zone, cell: (row) => el("span", { class: "zone-name" }, row.from_zone), class: "name" },
        { title: "To", sort: (row) => row.to_zone, cell: (row) => [el("span", { class: "zone-name" }, row.to_zone), " ", row.from_zone === row.to_zone ? pill("good", "same zone") : null] },
        { title: "Req/s", sort: (row) => row.rate, number: true, cell: (row) => texts.rateText(row.rate) },
        { title: "5xx/s", sort: (row) => row.failing, number: true, level: 2, cell: (row) => texts.rateText(row.failing) },
        { title: "Requests", sort: (row) => row.requests ?? 0, number: true, level: 2, cell: (row) => texts.number(row.requests ?? 0) },
        { title: "$ a month", sort: (row) => row.dollars, number: true, cell: (row) => (row.from_zone === row.to_zone ? "free" : texts.dollars(row.dollars)) },
      ],
    });
    this.replicas = new Table({
      caption: "Replicas",
      sort: 1,
      empty: () => "Waiting for figures.",
      columns: [
        { title: "Replica", sort: (row) => row.name, cell: (row) => [row.name, " ", row.own ? pill("own", "this one") : null], class: "name" },
        { title: "Zone", sort: (row) => row.zone ?? "", cell: (row) => row.zone || el("span", { class: "muted" }, "unknown") },
        { title: "State", sort: (row) => row.state ?? "up", cell: (row) => [pill((row.state ?? "up") === "up" ? "good" : "bad", row.state ?? "up"), row.away ? [" ", pill("warn", "not ready: its links are sick")] : null] },
        { title: "Heard", sort: (row) => row.age_seconds ?? 0, number: true, cell: (row) => (row.own ? el("span", { class: "muted" }, texts.NOTHING) : texts.secondsText(row.age_seconds ?? 0)) },
        { title: "Requests", sort: (row) => row.requests ?? 0, number: true, level: 2, cell: (row) => texts.number(row.requests ?? 0) },
      ],
    });
    this.node = el(
      "div",
      null,
      heading("Fleet", this.count),
      this.notes,
      el("section", { class: "card flush" }, el("h2", null, "From zone to zone"), this.flows.node),
      el("section", { class: "card flush" }, el("h2", null, "Replicas"), this.replicas.node),
      el("p", { class: "muted" }, "Requests and bytes are those since the replicas started. A replica of another zone tells its traffic every 5 seconds, so rates are of the last 15."),
    );
  }

  opened() {
    this.timer = setInterval(() => document.hidden || this.#load(), EVERY_MS);
    this.#load();
  }

  closed() {
    clearInterval(this.timer);
  }

  update() {}

  async #load() {
    try {
      const told = await load("fleet");
      this.told.push({ at: told.at_epoch_seconds * 1000, flows: told.fleet.flows ?? [] });
      while (this.told.length > 2 && this.told[1].at < told.at_epoch_seconds * 1000 - KEPT_MS) this.told.shift();
      this.#show(told.fleet);
    } catch (error) {
      text(this.count, `The fleet cannot be read: ${error.message}.`);
    }
  }

  #show(fleet) {
    const replicas = fleet.replicas ?? [];
    const zones = new Set(replicas.map((each) => each.zone).filter(Boolean));
    const rows = this.#rates(fleet.flows ?? []);
    const all = sum(rows, (row) => row.rate);
    const stay = all ? sum(rows.filter((row) => row.from_zone === row.to_zone), (row) => row.rate) / all : null;
    const stays = stay === null ? "" : `, ${texts.percent(stay)} stay in their zone`;
    text(this.count, `${texts.number(replicas.length)} ${replicas.length === 1 ? "replica" : "replicas"} in ${zones.size} ${zones.size === 1 ? "zone" : "zones"}, ${texts.rateText(all)} requests a second${stays}`);
    replace(this.notes, this.#notes(fleet));
    this.flows.show(rows);
    this.replicas.show(replicas);
  }

  #rates(flows) {
    const first = this.told[0];
    const last = this.told[this.told.length - 1];
    const seconds = (last.at - first.at) / 1000;
    const before = new Map(first.flows.map((flow) => [pair(flow), flow]));
    const rate = (flow, read) => (seconds > 0 ? Math.max(0, ((read(flow) ?? 0) - (read(before.get(pair(flow)) ?? {}) ?? 0)) / seconds) : 0);
    return flows.map((flow) => {
      const dollars = rate(flow, (each) => each.sent_bytes) * (flow.sent_price ?? 0) + rate(flow, (each) => each.received_bytes) * (flow.received_price ?? 0);
      return { ...flow, name: pair(flow), rate: rate(flow, (each) => each.requests), failing: rate(flow, (each) => each.errors), dollars: (dollars / 1e9) * MONTH_SECONDS };
    });
  }

  #notes(fleet) {
    const notes = (fleet.sick_zones ?? []).map((each) => `${each.zone} is sick: requests leave it at ${each.sick} of ${each.backends} backends.`);
    if (fleet.sick_links) notes.push("The links of this replica are sick: it fails where others get answers.");
    if (fleet.unheard) notes.push(`${fleet.unheard} more that this one has not heard for a minute.`);
    if ((fleet.replicas ?? []).length === 1 && !fleet.unheard) notes.push("This replica tells nobody, and nobody tells it: --peer-port lets replicas act as one.");
    return notes.map((note) => el("li", null, note));
  }
}
