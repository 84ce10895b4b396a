// What several pages show in the same way.

import { el } from "./dom.js";
import * as texts from "./texts.js";

const MODES = {
  zonal: ["good", "zonal"],
  general: ["warn", "every zone"],
  refusing: ["bad", "refuses"],
  empty: ["bad", "no endpoint"],
};

export const pill = (tone, label, title) => el("span", { class: `pill ${tone}`, title }, label);

export function modePill(row) {
  const [tone, label] = MODES[row.mode ?? "empty"];
  if (row.dry_run) return pill("calm", `dry run: ${label}`);
  return row.reason === "off" ? pill("calm", "zones off") : pill(tone, label);
}

export function shareBar(share, kind = "") {
  if (share === null) return el("span", { class: "muted" }, texts.NOTHING);
  const bar = el("i", { class: "bar-fill", "aria-hidden": "true" });
  bar.style.width = `${share * 100}%`;
  return el("span", { class: `share ${kind}` }, el("span", { class: "bar-ground" }, bar), texts.percent(share));
}

export function zoneChips(zones, own) {
  return el(
    "span",
    { class: "chips" },
    (zones ?? []).map((zone) => {
      const tone = zone.ejected || (!zone.ready && zone.draining) ? "warn" : zone.zone === own ? "good" : "calm";
      const more = [zone.draining && `${zone.draining} draining`, zone.ejected && `${zone.ejected} ejected`].filter(Boolean);
      return el("span", { class: `chip ${tone}` }, zone.zone, " ", el("b", null, zone.ready ?? 0), more.length ? ` (${more.join(", ")})` : "");
    }),
  );
}

export function heading(title, ...lead) {
  return el("div", { class: "heading" }, el("h1", { tabindex: "-1" }, title), lead);
}

export const serviceHref = (name) => `#/services/${name.split("/").map(encodeURIComponent).join("/")}`;

export async function load(parts, service) {
  const query = new URLSearchParams({ parts, ...(service ? { service } : {}) });
  const response = await fetch(`debug/overview?${query}`);
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return response.json();
}

export function searchBox(label, onInput, value = "") {
  return el("input", { type: "search", placeholder: label, "aria-label": label, autocomplete: "off", spellcheck: "false", value, oninput: (event) => onInput(event.target.value) });
}

// The rows whose text has every one of `words`.
export function matching(rows, words, textOf) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (!wanted.length) return rows;
  return rows.filter((row) => {
    const whole = textOf(row).toLowerCase();
    return wanted.every((word) => whole.includes(word));
  });
}

export function choices(label, options, chosen, choose) {
  const buttons = options.map(([name, title]) => el("button", { type: "button", class: "choice", "aria-pressed": String(name === chosen), onclick: () => press(name) }, title));
  const press = (name) => {
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(options[index][0] === name)));
    choose(name);
  };
  return el("div", { class: "choices", role: "group", "aria-label": label }, buttons);
}

// What a view is asked by its address, after the `?`. What is set is in the address from then on, so that it can be shared.
export class Asked {
  constructor(query, usual) {
    this.query = query;
    this.usual = usual;
  }

  get(name) {
    return this.query.get(name) ?? this.usual[name] ?? "";
  }

  set(name, value) {
    if (value === (this.usual[name] ?? "")) this.query.delete(name);
    else this.query.set(name, value);
    const [page] = location.hash.split("?");
    const told = this.query.toString();
    history.replaceState(null, "", `${page || "#/zones"}${told ? `?${told}` : ""}`);
  }
}

export function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => el("div", null, el("dt", null, name), el("dd", null, value))));
}
