// Connects the page to its replica, and shows the view that the address names. A view has `node` and `update(state, figures)`
// for every event, and may have `opened()`, `closed()` and `resized()`.

import { el, replace, shown, text } from "./dom.js";
import { ExplainView } from "./explain.js";
import { serviceFigures } from "./figures.js";
import { FindingsView } from "./findings.js";
import { FleetView } from "./fleet.js";
import { ReplicaView } from "./replica.js";
import { RoutesView } from "./routes.js";
import { ServiceView } from "./service.js";
import { ServicesView } from "./services.js";
import { State } from "./state.js";
import { ZonesView } from "./zones.js";

const SILENT_MS = 4000;
const AGAIN_MS = 3000;

const PAGES = [
  ["zones", "Zones"],
  ["services", "Services"],
  ["routes", "Routes"],
  ["findings", "Findings"],
  ["fleet", "Fleet"],
  ["explain", "Explain"],
  ["replica", "Replica"],
];

const state = new State();
const main = document.getElementById("main");
const badge = el("span", { class: "badge", hidden: true });
const links = PAGES.map(([name, title]) => el("a", { href: `#/${name}` }, title, name === "findings" ? badge : null));
replace(document.getElementById("nav"), links.map((link) => el("li", null, link)));

let view = null;
let lastEvent = 0;

// The address: #/page, #/page?q=WORDS, #/services/NAMESPACE/NAME, #/explain?url=…

function viewOf(address) {
  const [path, query] = address.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [page, ...rest] = path.split("/").map(decoded);
  if (page === "services" && rest.length === 2) return [page, new ServiceView(rest.join("/"))];
  const asked = new URLSearchParams(query ?? "");
  const views = { explain: ExplainView, findings: FindingsView, fleet: FleetView, replica: ReplicaView, routes: RoutesView, services: ServicesView };
  return views[page] ? [page, new views[page](asked)] : ["zones", new ZonesView(asked)];
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function show(isFirst) {
  const [page, next] = viewOf(location.hash);
  view?.closed?.();
  view = next;
  replace(main, view.node);
  links.forEach((link, index) => {
    if (PAGES[index][0] !== page) return link.removeAttribute("aria-current");
    link.setAttribute("aria-current", "page");
    return link.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  document.title = shown(`${view.name ?? view.title} · zonal`);
  view.opened?.();
  if (state.at) update();
  if (!isFirst) {
    main.scrollTo?.(0, 0);
    window.scrollTo(0, 0);
    view.node.querySelector("h1")?.focus({ preventScroll: true });
  }
}

function update() {
  const figures = [...state.services.values()].map((samples) => serviceFigures(samples, state));
  view.update(state, figures);
  const zone = document.getElementById("zone");
  zone.hidden = false;
  text(zone, state.replica.own_zone || "zone unknown");
  const counts = state.findingCounts;
  const urgent = (counts.closed ?? 0) + (counts.misrouted ?? 0) + (counts.unprotected ?? 0);
  const all = Object.values(counts).reduce((sum, value) => sum + value, 0);
  badge.hidden = !all;
  badge.className = urgent ? "badge urgent" : "badge";
  text(badge, String(all));
}

// Live.

function connect() {
  const source = new EventSource("ui/events");
  source.onmessage = (message) => {
    lastEvent = Date.now();
    state.take(JSON.parse(message.data));
    tellConnection();
    if (!document.hidden) update();
  };
  source.onerror = () => {
    tellConnection(true);
    if (source.readyState !== EventSource.CLOSED) return;
    source.close();
    setTimeout(connect, AGAIN_MS);
  };
}

function tellConnection(failed = false) {
  const isLive = !failed && Date.now() - lastEvent < SILENT_MS;
  const live = document.getElementById("live");
  live.className = isLive ? "live on" : "live off";
  text(live, isLive ? "live" : "not connected");
  const alarm = document.getElementById("alarm");
  alarm.hidden = isLive || !state.at;
  text(alarm, isLive ? "" : "The replica does not answer. The figures below are old; this page tries again by itself.");
  document.body.classList.toggle("stale", !isLive);
}

// Dark or light: as the system says, unless the button was used.

const theme = document.getElementById("theme");
const prefersLight = matchMedia("(prefers-color-scheme: light)");

function stored() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

function dress(name) {
  document.documentElement.dataset.theme = name;
  text(theme, name === "dark" ? "☀" : "☾");
  theme.setAttribute("aria-label", name === "dark" ? "Use light colours" : "Use dark colours");
}

theme.addEventListener("click", () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("theme", next);
  } catch {
    // A private window keeps nothing.
  }
  dress(next);
});
prefersLight.addEventListener("change", () => stored() ?? dress(prefersLight.matches ? "light" : "dark"));
dress(stored() ?? (prefersLight.matches ? "light" : "dark"));

window.addEventListener("hashchange", () => show(false));
window.addEventListener("resize", () => view?.resized?.());
document.addEventListener("visibilitychange", () => document.hidden || (state.at && update()));
setInterval(() => tellConnection(), 1000);
show(true);
connect();
