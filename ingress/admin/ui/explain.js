// Where a request goes, as a form whose answer has an address.

import { el, replace, text } from "./dom.js";
import { shareBar, heading, serviceHref, load, facts } from "./parts.js";

export class ExplainView {
  title = "Explain";

  constructor(query) {
    this.query = query;
    const field = (label, name, attributes, hint) => el("label", null, el("span", null, label), attributes.rows ? el("textarea", { name, ...attributes }, query.getAll(name === "headers" ? "header" : name).join("\n")) : el("input", { name, value: query.get(name) ?? "", ...attributes }), hint ? el("small", { class: "muted" }, hint) : null);
    this.form = el(
      "form",
      { class: "card form", onsubmit: (event) => this.#ask(event) },
      field("URL", "url", { type: "text", inputmode: "url", required: true, placeholder: "http://shop.example/cart", autocomplete: "off", spellcheck: "false" }),
      field("Header fields", "headers", { rows: 2, placeholder: "Name: value", spellcheck: "false" }, "One on each line. Names and values become part of the address of this page."),
      field("Address of the client", "client", { type: "text", placeholder: "192.0.2.1", autocomplete: "off" }, "For hashing and source ranges."),
      el("button", { type: "submit", class: "main-button" }, "Explain"),
    );
    this.answer = el("div", { "aria-live": "polite" });
    this.node = el("div", { class: "explain" }, heading("Explain"), el("p", { class: "lead" }, "Where does a request go, and why? The answer is that of a serving worker, and nothing is sent to an endpoint."), this.form, this.answer);
  }

  opened() {
    if (this.query.get("url")) this.#load();
  }

  update() {}

  #ask(event) {
    event.preventDefault();
    const given = new FormData(this.form);
    const query = new URLSearchParams({ url: given.get("url").trim() });
    for (const line of given.get("headers").split("\n")) if (line.trim()) query.append("header", line.trim());
    if (given.get("client").trim()) query.set("client", given.get("client").trim());
    const target = `#/explain?${query}`;
    if (location.hash === target) this.#load();
    else location.hash = target;
  }

  async #load() {
    try {
      const response = await fetch(`debug/explain?${this.query}`);
      const found = await response.json();
      replace(this.answer, response.ok ? this.#found(found) : el("p", { class: "card edge-bad" }, found.error));
    } catch (error) {
      replace(this.answer, el("p", { class: "card edge-bad" }, `There is no answer: ${error.message}.`));
    }
  }

  #found(found) {
    const zones = [...new Set(found.pool.map((each) => each.zone ?? "unknown"))];
    const answer = found.status === null ? "An endpoint answers" : found.location ? `${found.status}, leads to ${found.location}` : `${found.status} ${found.error ?? ""}`;
    return [
      el(
        "section",
        { class: `card edge-${found.status === null || found.location ? "good" : "bad"}` },
        el("h2", null, answer),
        facts([
          ["Service", found.service ? el("a", { href: serviceHref(found.service) }, found.service) : null],
          ["Ingress", found.ingress],
          ["Policy", found.policy && `${found.policy} (${found.policy_source})`],
          ["Mode", found.mode],
          ["Reason", found.reason && el("code", null, found.reason)],
          ["Zone", found.pool.length ? (found.to_zone ?? zones.join(", ")) : null],
          ["Next endpoint", found.endpoint && el("code", null, found.endpoint)],
        ]),
        found.pool.length ? el("ul", { class: "bars pool" }, found.pool.slice(0, 50).map((each) => el("li", null, el("code", null, each.endpoint), el("span", { class: "muted" }, each.zone ?? "unknown"), shareBar(each.probability, "neutral")))) : null,
      ),
      el("section", { class: "card" }, el("h2", null, "Step by step"), el("ol", { class: "steps" }, found.steps.map((step) => el("li", null, step)))),
    ];
  }
}
