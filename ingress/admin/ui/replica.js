// This replica: how it stands, its processes, its settings and its peers.

import { el, replace } from "./dom.js";
import { Asked, facts, heading, load, matching, pill, searchBox } from "./parts.js";
import { Table } from "./table.js";
import * as texts from "./texts.js";

const ZONE_SOURCES = { node: () => "the label of its node", pod: () => "the label of its pod", flag: () => ["the option ", el("code", { class: "whole" }, "--zone")], none: () => "nothing" };

export class ReplicaView {
  title = "Replica";

  constructor(query) {
    this.asked = new Asked(query, { only: "set" });
    this.words = this.asked.get("q");
    this.only = this.asked.get("only") === "set";
    this.facts = el("div");
    this.workers = el("div");
    this.peers = el("div");
    this.settings = new Table({
      caption: "Settings in force",
      sort: 0,
      empty: () => "No setting differs from its default.",
      columns: [
        { title: "Setting", sort: (row) => row.name, cell: (row) => el("code", null, row.name), class: "name" },
        { title: "Value", sort: (row) => row.value, cell: (row) => el("span", { class: "value", title: row.value }, row.value || el("span", { class: "muted" }, "empty")) },
        { title: "From", sort: (row) => row.source ?? "default", cell: (row) => pill(row.source && row.source !== "default" ? "own" : "calm", row.source ?? "default") },
      ],
    });
    const toggle = el("label", { class: "check" }, el("input", { type: "checkbox", checked: this.only, onchange: (event) => this.#choose(event.target.checked) }), "only those that were set");
    this.node = el(
      "div",
      null,
      heading("This replica"),
      this.facts,
      el("div", { class: "halves" }, el("section", { class: "card" }, el("h2", null, "Processes"), this.workers), el("section", { class: "card" }, el("h2", null, "Other replicas"), this.peers)),
      el("section", { class: "card flush" }, el("h2", null, "Settings in force"), el("div", { class: "tools" }, searchBox("Search settings", (words) => this.#search(words), this.words), toggle), this.settings.node),
    );
  }

  opened() {
    this.generation = null;
  }

  async #load() {
    try {
      this.all = (await load("settings")).settings ?? [];
      this.#show();
    } catch {
      this.generation = null;
    }
  }

  #choose(only) {
    this.only = only;
    this.asked.set("only", only ? "set" : "all");
    this.#show();
  }

  #search(words) {
    this.words = words;
    this.asked.set("q", words);
    this.#show();
  }

  #show() {
    if (!this.all) return;
    const kept = this.only && !this.words ? this.all.filter((row) => (row.source ?? "default") !== "default") : this.all;
    this.settings.show(matching(kept, this.words, (row) => `${row.name} ${row.value}`));
  }

  update(state) {
    const it = state.replica;
    if (this.generation !== it.generation) {
      this.generation = it.generation;
      this.#load();
    }
    const ages = Object.entries(it.watch_ages_seconds ?? {});
    replace(
      this.facts,
      el(
        "section",
        { class: "card" },
        facts([
          ["Own zone", it.own_zone ? [el("b", null, it.own_zone), ", known from ", ZONE_SOURCES[it.zone_source ?? "none"]()] : pill("warn", "unknown")],
          ["Node", it.node],
          ["Pod", it.pod],
          ["Version", it.build ? `${it.version}, ${it.build}` : it.version],
          ["State", it.problem ? pill("bad", it.problem) : pill("good", "ready")],
          ["Up for", texts.age(state.at - it.started_at_epoch_seconds)],
          ["Configuration", `generation ${it.generation ?? 0}, ${texts.age(state.at - it.published_at_epoch_seconds)} old, made in ${texts.secondsText(it.translation_seconds)}`],
          ["Source", it.source],
          ["Leader", it.leading === undefined || it.leading === null ? "no election" : it.leading ? "this replica writes status and Events" : "another replica"],
          ["API server", ages.length ? (it.api_problem ? pill("bad", it.api_problem) : pill("good", "answers")) : null],
          ["Last news", ages.length ? ages.map(([kind, seconds]) => `${kind} ${texts.age(seconds)}`).join(", ") : null],
          ["Loop lag", texts.secondsText(it.loop_lag_seconds ?? 0)],
        ]),
      ),
    );
    replace(this.workers, this.#processes(state));
    replace(this.peers, this.#peers(it.peers ?? []));
  }

  #processes(state) {
    const it = state.replica;
    const rows = [["parent", it.cpu_seconds, it.memory_bytes, it.started_at_epoch_seconds], ...(it.workers ?? []).map((each) => [`worker ${each.number ?? 0}`, each.cpu_seconds, each.memory_bytes, each.started_at_epoch_seconds])];
    const open = (kind) => texts.number(it.connections?.[kind] ?? 0);
    return [
      el("table", { class: "small" }, el("thead", null, el("tr", null, ["Process", "CPU", "Memory", "Up for"].map((title) => el("th", { scope: "col" }, title)))), el("tbody", null, rows.map(([name, cpu, memory, started]) => el("tr", null, el("th", { scope: "row" }, name), el("td", null, texts.secondsText(cpu ?? 0)), el("td", null, texts.bytesText(memory ?? 0)), el("td", null, texts.age(state.at - started)))))),
      el("p", { class: "muted" }, it.workers?.length ? "" : "This process serves requests itself. ", `Connections of clients: ${open("client_active")} at work, ${open("client_idle")} idle, ${open("http2_connections")} of them HTTP/2 with ${open("http2_streams")} streams. To endpoints: ${open("endpoint_active")} at work, ${open("endpoint_idle")} idle. `, it.worker_restarts ? `${it.worker_restarts} workers were replaced.` : ""),
    ];
  }

  #peers(peers) {
    if (!peers.length) return el("p", { class: "empty" }, "The publish Service tells of no other replica. Set --publish-service to see them here.");
    return [el("ul", { class: "peers" }, peers.map((peer) => el("li", null, el("a", { href: peer.url, rel: "noreferrer" }, peer.pod || peer.address), " ", pill(peer.ready === false ? "warn" : "calm", peer.zone || "zone unknown"), peer.ready === false ? " not ready" : ""))), el("p", { class: "muted" }, "A link works where the pod's admin port can be reached. Otherwise: kubectl port-forward POD 10254.")];
  }
}
