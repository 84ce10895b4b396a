// Zones: what a first look should tell.

import { SPANS, timelineCharts } from "./charts.js";
import { el, replace, text } from "./dom.js";
import { matrix, summary } from "./figures.js";
import { Asked, choices, modePill, pill, serviceHref } from "./parts.js";
import * as texts from "./texts.js";
import { sickText, verdict } from "./verdict.js";

function tile(label) {
  const value = el("strong", null, texts.NOTHING);
  const note = el("small");
  return { node: el("div", { class: "tile" }, el("span", null, label), value, note), value, note };
}

export class ZonesView {
  title = "Zones";

  constructor(query) {
    this.asked = new Asked(query, { span: String(SPANS[0]) });
    this.span = SPANS.includes(Number(this.asked.get("span"))) ? this.asked.get("span") : String(SPANS[0]);
    const spans = choices("Time", SPANS.map((seconds) => [String(seconds), seconds < 3600 ? `${seconds / 60} minutes` : "1 hour"]), this.span, (span) => this.#choose(span));
    this.verdict = el("h1", { tabindex: "-1", class: "verdict" }, "Waiting for figures");
    this.tiles = ["Requests a second", "Stay in the own zone", "Errors", "p99 own / other zones", "Between zones, a month"].map(tile);
    this.matrix = el("div", { class: "matrix-scroller", tabindex: "0", role: "region", "aria-label": "Traffic between zones" });
    this.charts = timelineCharts();
    for (const chart of this.charts) chart.onCross = (at) => this.#cross(at);
    this.changes = el("ol", { class: "changes" });
    this.sick = el("div");
    this.node = el(
      "div",
      { class: "zones" },
      this.verdict,
      this.sick,
      el("div", { class: "tiles" }, this.tiles.map((each) => each.node)),
      el("section", { class: "card", "aria-labelledby": "matrix-title" }, el("h2", { id: "matrix-title" }, "From zone to zone"), this.matrix),
      el("section", { class: "card", "aria-labelledby": "time-title" }, el("div", { class: "heading" }, el("h2", { id: "time-title" }, "The last minutes"), spans), el("div", { class: "charts" }, this.charts.map((chart) => chart.node))),
      el("section", { class: "card", "aria-labelledby": "changes-title" }, el("h2", { id: "changes-title" }, "What changed"), this.changes),
    );
    this.cross = null;
  }

  update(state, figures) {
    this.state = state;
    const { tone, text: sentence } = verdict(state, figures);
    this.verdict.className = `verdict tone-${tone}`;
    text(this.verdict, sentence);
    this.#tell(state);
    replace(this.sick, this.#sick(figures));
    replace(this.matrix, this.#matrix(state));
    this.#draw();
    replace(this.changes, this.#changes(state, figures));
  }

  resized() {
    if (this.state) this.#draw();
  }

  #draw() {
    for (const chart of this.charts) chart.draw(this.state.timeline, this.state.at, this.cross, Number(this.span));
  }

  #choose(span) {
    this.span = span;
    this.asked.set("span", span);
    if (this.state) this.#draw();
  }

  #cross(at) {
    this.cross = at;
    this.#draw();
  }

  #tell(state) {
    const now = summary(state);
    const [requests, local, errors, latency, cost] = this.tiles;
    text(requests.value, texts.rateText(now.requests));
    text(requests.note, `to ${texts.number(state.services.size)} ${state.services.size === 1 ? "Service" : "Services"}`);
    text(local.value, texts.percent(now.localShare));
    text(local.note, now.spillShare > 0 ? `${texts.percent(now.spillShare)} spilled by load or health` : state.replica.own_zone ? `in ${state.replica.own_zone}` : "own zone unknown");
    local.node.dataset.tone = now.localShare === null ? "" : now.localShare > 0.5 ? "good" : "warn";
    text(errors.value, texts.rateText(now.errors));
    text(errors.note, now.errors ? `${texts.percent(now.errorShare)} of requests` : "5xx a second");
    errors.node.dataset.tone = now.errors > 0 ? "bad" : "";
    text(latency.value, `${texts.secondsText(now.p99Local)} / ${texts.secondsText(now.p99Remote)}`);
    text(latency.note, "of the last seconds");
    const saved = now.blind - now.dollars;
    text(cost.value, texts.dollars(now.dollars));
    text(cost.note, saved >= 0 ? `saves ${texts.dollars(saved)} against zone\u2011blind` : `${texts.dollars(-saved)} more than zone\u2011blind`);
    cost.node.dataset.tone = saved > 0 ? "good" : "";
  }

  #matrix(state) {
    const { own, order, flows, total, zones } = matrix(state);
    if (!order.length) return el("p", { class: "empty" }, "No zone is known yet.");
    const head = el("tr", null, el("th", { scope: "col" }, el("span", { class: "corner" }, "from ↓ to →")), order.map((zone) => el("th", { scope: "col" }, this.#zone(zones.get(zone), zone, own))));
    const rows = order.map((from) => this.#row(from, order, flows, total, own, state));
    return el("table", { class: "matrix" }, el("caption", { class: "unseen" }, "Requests, bytes and dollars a month from zone to zone"), el("thead", null, head), el("tbody", null, rows));
  }

  #zone(zone, name, own) {
    const parts = [zone?.ready && `${zone.ready} ready`, zone?.draining && `${zone.draining} not ready`, zone?.ejected && `${zone.ejected} ejected`, zone?.drained && "drained"].filter(Boolean);
    return [el("span", { class: "zone-name" }, name), name === own ? [" ", pill("own", "own")] : null, el("small", null, parts.join(", ") || "no endpoint")];
  }

  #row(from, order, flows, total, own, state) {
    const isOwn = from === own;
    const head = el("th", { scope: "row" }, el("span", { class: "zone-name" }, from));
    const told = flows.filter((flow) => flow.from === from);
    if (!told.some((flow) => flow.requests > 0) && !isOwn) {
      return el("tr", { class: "elsewhere" }, head, el("td", { colspan: order.length }, this.#elsewhere(from, state)));
    }
    const cells = order.map((to) => this.#cell(told.find((flow) => flow.to === to), total, from === to));
    return el("tr", { class: isOwn ? "own" : "" }, head, cells);
  }

  #cell(flow, total, isLocal) {
    if (!flow || !flow.requests) return el("td", { class: "quiet-cell" }, el("span", { "aria-label": "none" }, "·"));
    const share = total ? flow.requests / total : 0;
    const fillBar = el("i", { class: "cell-fill", "aria-hidden": "true" });
    fillBar.style.width = `${share * 100}%`;
    return el(
      "td",
      { class: `flow ${isLocal ? "local" : "remote"}` },
      el("strong", null, texts.percent(share)),
      el("span", null, `${texts.rateText(flow.requests)} req/s`),
      el("span", null, `${texts.bytesText(flow.bytes)}/s`),
      el("span", null, isLocal ? "free" : `${texts.dollars(flow.dollars)} a month`),
      fillBar,
    );
  }

  #elsewhere(zone, state) {
    const peers = (state.replica.peers ?? []).filter((peer) => peer.zone === zone);
    if (!peers.length) return el("span", { class: "muted" }, "Shown by the replicas in this zone. None is known here.");
    return el("span", { class: "muted" }, "Shown by ", peers.map((peer, index) => [index ? ", " : "", el("a", { href: peer.url, rel: "noreferrer" }, peer.pod || peer.address)]));
  }

  #sick(figures) {
    const sick = figures.filter((each) => each.sick.length);
    if (!sick.length) return null;
    const rows = sick.slice(0, 8).flatMap((each) => each.sick.map((zone) => el("li", null, el("a", { href: serviceHref(each.name) }, each.name), el("span", null, sickText(zone)))));
    return el("section", { class: "card", "aria-labelledby": "sick-title" }, el("h2", { id: "sick-title" }, "Sick zones"), el("ol", { class: "changes" }, rows));
  }

  #changes(state, figures) {
    const all = figures.flatMap((each) => (each.row.changes ?? []).slice(1).map((change) => ({ ...change, name: each.name })));
    all.sort((a, b) => b.at_epoch_seconds - a.at_epoch_seconds);
    if (!all.length) return el("li", { class: "empty" }, "No Service has changed its mode since this replica began to watch.");
    return all.slice(0, 8).map((change) =>
      el("li", null, el("time", null, `${texts.age(state.at - change.at_epoch_seconds)} ago`), el("a", { href: serviceHref(change.name) }, change.name), modePill(change), el("code", null, change.reason || "")),
    );
  }
}
