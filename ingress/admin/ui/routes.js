// All routes.

import { el, text } from "./dom.js";
import { Asked, heading, load, matching, searchBox } from "./parts.js";
import { routesTable } from "./route_table.js";
import { RouteRates } from "./samples.js";
import * as texts from "./texts.js";

const LOAD_MILLISECONDS = 5000; // a document of thousands of routes takes the server tens of milliseconds

export class RoutesView {
  title = "Routes";

  constructor(query) {
    this.asked = new Asked(query, {});
    this.words = this.asked.get("q");
    this.rows = [];
    this.rates = new RouteRates();
    this.certificates = new Map();
    this.count = el("p", { class: "muted", role: "status" });
    this.table = routesTable("Routes", "No route fits.", () => this.certificates);
    this.node = el("div", { class: "listing" }, heading("Routes", this.count), el("div", { class: "tools" }, searchBox("Search hosts, paths, Ingresses, features", (words) => this.#search(words), this.words)), this.table.node);
  }

  opened() {
    this.generation = null;
    this.timer = setInterval(() => this.#load(), LOAD_MILLISECONDS);
  }

  closed() {
    clearInterval(this.timer);
  }

  update(state) {
    if (this.generation !== state.replica.generation) {
      this.generation = state.replica.generation;
      this.#load();
    }
  }

  async #load() {
    try {
      const told = await load("routes,certificates");
      const now = told.at_epoch_seconds;
      this.certificates = new Map((told.certificates ?? []).map((row) => [`${row.namespace}/${row.secret}`, { days: texts.daysLeft(row.expires_at_epoch_seconds, now) }]));
      this.rows = this.rates.rows(told);
      this.#show();
    } catch (error) {
      text(this.count, `Routes cannot be read: ${error.message}.`);
      this.generation = null;
    }
  }

  #search(words) {
    this.words = words;
    this.asked.set("q", words);
    this.table.node.scrollTop = 0;
    this.#show();
  }

  #show() {
    const rows = matching(this.rows, this.words, (row) => `${row.host}${row.path} ${row.namespace}/${row.ingress} ${row.backend} ${(row.features ?? []).join(" ")} ${row.certificate ?? ""}`);
    text(this.count, rows.length === this.rows.length ? `${texts.number(rows.length)} in all` : `${texts.number(rows.length)} of ${texts.number(this.rows.length)}`);
    this.table.show(rows);
  }
}
