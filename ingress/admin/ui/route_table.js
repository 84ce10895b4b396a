// The table of routes, of all or of one Service.

import { el } from "./dom.js";
import { pill, serviceHref } from "./parts.js";
import { Table } from "./table.js";
import * as texts from "./texts.js";

export function routesTable(caption, empty, certificates = () => new Map()) {
  return new Table({
    caption,
    sort: 0,
    empty: () => empty,
    columns: [
      { title: "Host and path", sort: (row) => row.name, cell: (row) => el("span", { class: "route", title: `${row.host || "every host"}${row.path}` }, el("span", { class: "host" }, row.host || el("i", null, "every host")), el("b", null, row.path), row.kind === "Prefix" ? null : el("small", null, row.kind)), class: "name way" },
      { title: "Service", sort: (row) => `${row.namespace ?? ""}/${row.service ?? ""}`, cell: (row) => (row.closed ? pill("bad", "closed: 503") : row.backend ? el("a", { href: serviceHref(`${row.namespace}/${row.service}`) }, row.backend) : pill("bad", `${row.service} is missing: 503`)) },
      { title: "Req/s", sort: (row) => row.requestRate, number: true, cell: (row) => rate(row.requestRate) },
      { title: "5xx/s", sort: (row) => row.errorRate, number: true, level: 2, cell: (row) => (row.errorRate ? el("span", { class: "text-bad" }, rate(row.errorRate)) : el("span", { class: "muted" }, rate(row.errorRate))) },
      { title: "Ingress", sort: (row) => `${row.namespace ?? ""}/${row.ingress ?? ""}`, level: 2, cell: (row) => (row.ingress ? `${row.namespace}/${row.ingress}` : "default backend") },
      { title: "Features", sort: (row) => (row.features ?? []).length, level: 3, cell: (row) => el("span", { class: "chips" }, (row.features ?? []).map((feature) => el("span", { class: "chip" }, feature))) },
      { title: "Certificate", sort: (row) => certificates().get(row.certificate)?.days ?? null, level: 2, cell: (row) => certificate(row.certificate, certificates()) },
    ],
  });
}

const rate = (value) => (value === null ? texts.NOTHING : texts.rateText(value));

function certificate(name, known) {
  if (!name) return el("span", { class: "muted" }, texts.NOTHING);
  const days = known.get(name)?.days;
  if (days === undefined) return name;
  const tone = days < 7 ? "bad" : days < 21 ? "warn" : "good";
  return el("span", { title: name }, pill(tone, days < 0 ? "expired" : `${days} days`), " ", el("span", { class: "muted" }, name));
}
