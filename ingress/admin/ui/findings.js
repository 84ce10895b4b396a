// What is wrong with objects of the cluster, and how it is repaired.

import { el, replace, text } from "./dom.js";
import { Asked, heading, load, matching, searchBox } from "./parts.js";
import * as texts from "./texts.js";

const SEVERITIES = {
  closed: ["bad", "Closed", "Answers 503, or is not served at all"],
  misrouted: ["bad", "Misrouted", "Another backend answers than meant"],
  unprotected: ["warn", "Unprotected", "A protection is missing"],
  degraded: ["warn", "Degraded", "Served, but not as well as asked"],
  cosmetic: ["calm", "Cosmetic", "No request notices"],
};

export class FindingsView {
  title = "Findings";

  constructor(query) {
    this.asked = new Asked(query, {});
    this.words = this.asked.get("q");
    this.findings = null;
    this.list = el("div");
    this.count = el("p", { class: "muted", role: "status" });
    this.node = el("div", null, heading("Findings", this.count), el("div", { class: "tools" }, searchBox("Search objects, reasons, repairs", (words) => this.#search(words), this.words)), this.list);
  }

  opened() {
    this.revision = null;
  }

  update(state) {
    if (this.revision !== state.findingsRevision) {
      this.revision = state.findingsRevision;
      this.#load();
    }
  }

  async #load() {
    try {
      this.findings = (await load("findings")).findings ?? [];
      this.#show();
    } catch (error) {
      text(this.count, `Findings cannot be read: ${error.message}.`);
      this.revision = null;
    }
  }

  #search(words) {
    this.words = words;
    this.asked.set("q", words);
    if (this.findings) this.#show();
  }

  #show() {
    const rows = matching(this.findings, this.words, (each) => Object.values(each).join(" "));
    text(this.count, this.findings.length ? `${texts.number(rows.length)} of ${texts.number(this.findings.length)}` : "");
    if (!this.findings.length) {
      replace(this.list, el("div", { class: "calm-state" }, el("strong", null, "Nothing is wrong."), el("p", null, "Every object is served as its author asks. A mistake in an Ingress, a Service or the ConfigMap appears here within a second, with its repair.")));
      return;
    }
    const groups = Object.entries(SEVERITIES).map(([severity, [tone, title, meaning]]) => {
      const own = rows.filter((each) => each.severity === severity);
      return own.length ? el("section", { class: `card finding-group edge-${tone}` }, el("h2", null, title, " ", el("span", { class: "badge" }, own.length)), el("p", { class: "muted" }, meaning), el("ul", { class: "findings" }, own.slice(0, 200).map(finding)), own.length > 200 ? el("p", { class: "muted" }, `… and ${own.length - 200} more: search to see them.`) : null) : null;
    });
    replace(this.list, rows.length ? groups : el("p", { class: "empty" }, "No finding fits."));
  }
}

const finding = (each) => el("li", null, el("p", { class: "subject" }, el("b", null, each.kind), " ", each.namespace ? `${each.namespace}/${each.name}` : each.name, " ", el("code", null, each.reason)), el("p", null, each.message), el("p", { class: "muted" }, each.effect));
