// All Services.

import { el, text } from "./dom.js";
import { Asked, choices, heading, matching, modePill, searchBox, serviceHref, shareBar, zoneChips } from "./parts.js";
import { Table } from "./table.js";
import * as texts from "./texts.js";

const FILTERS = [
  ["all", "All", () => true],
  ["leaving", "Leaving the zone", (each) => each.remote > 0],
  ["general", "Every zone", (each) => each.row.mode === "general" && each.row.reason !== "off"],
  ["errors", "With errors", (each) => each.errors > 0],
  ["sick", "Sick zone", (each) => each.sick.length > 0],
  ["empty", "No endpoint", (each) => ["empty", "refusing", undefined].includes(each.row.mode)],
];

export class ServicesView {
  title = "Services";

  constructor(query) {
    this.asked = new Asked(query, { filter: "all" });
    this.words = this.asked.get("q");
    this.filter = FILTERS.some(([name]) => name === this.asked.get("filter")) ? this.asked.get("filter") : "all";
    this.count = el("p", { class: "muted", role: "status" });
    this.table = new Table({
      caption: "Services",
      sort: 4,
      down: true,
      href: (each) => serviceHref(each.name),
      empty: () => (this.total ? "No Service fits. Change the words or the filter." : "No Service is served yet: an Ingress of this class brings its Services here."),
      columns: [
        { title: "Service", sort: (each) => each.name, cell: (each) => el("a", { href: serviceHref(each.name) }, el("span", { class: "muted" }, `${each.row.namespace}/`), each.row.name), class: "name" },
        { title: "Mode", sort: (each) => each.row.mode ?? "empty", cell: (each) => el("span", { title: each.row.tried_text || each.row.reason_text }, modePill(each.row)), class: "mode" },
        { title: "Own zone", sort: (each) => each.localShare, number: true, cell: (each) => shareBar(each.localShare) },
        { title: "Ready endpoints by zone", sort: (each) => each.endpoints, level: 3, cell: (each) => zoneChips(each.row.zones, this.own) },
        { title: "Req/s", sort: (each) => each.requests, number: true, cell: (each) => texts.rateText(each.requests) },
        { title: "5xx/s", sort: (each) => each.errors, number: true, level: 2, cell: (each) => (each.errors ? el("span", { class: "text-bad" }, texts.rateText(each.errors)) : el("span", { class: "muted" }, "0")) },
        { title: "p99", sort: (each) => each.p99, number: true, level: 2, cell: (each) => texts.secondsText(each.p99) },
        { title: "Spill", sort: (each) => each.spill, number: true, level: 3, cell: (each) => texts.percent(each.spill) },
        { title: "$ a month", sort: (each) => each.dollars, number: true, level: 3, cell: (each) => texts.dollars(each.dollars) },
      ],
    });
    this.node = el("div", { class: "listing" }, heading("Services", this.count), el("div", { class: "tools" }, searchBox("Search Services, policies, reasons", (words) => this.#search(words), this.words), choices("Filter", FILTERS, this.filter, (name) => this.#choose(name))), this.table.node);
  }

  update(state, figures) {
    this.figures = figures;
    this.own = state.replica.own_zone;
    this.total = figures.length;
    const fits = FILTERS.find(([name]) => name === this.filter)[2];
    const rows = matching(figures.filter(fits), this.words, (each) => `${each.name} ${each.row.policy ?? "off"} ${each.row.mode ?? "empty"} ${each.row.reason ?? ""}`);
    this.state = state;
    text(this.count, rows.length === this.total ? `${texts.number(this.total)} in all` : `${texts.number(rows.length)} of ${texts.number(this.total)}`);
    this.table.show(rows);
  }

  #choose(name) {
    this.filter = name;
    this.asked.set("filter", name);
    this.#again();
  }

  #search(words) {
    this.words = words;
    this.asked.set("q", words);
    this.#again();
  }

  #again() {
    this.table.node.scrollTop = 0;
    if (this.state) this.update(this.state, this.figures);
  }
}
