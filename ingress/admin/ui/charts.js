// Charts of the last minutes, drawn as SVG. They share one time axis and one cross-hair.

import { el, replace, svg, text } from "./dom.js";
import { NOTHING, rateText, secondsText } from "./texts.js";

// In pixels at the usual size of letters; everything grows with them.
const LETTERS = 15;
const USUAL = { height: 132, left: 48, right: 10, top: 10, bottom: 20 };

function measured() {
  const grown = parseFloat(getComputedStyle(document.documentElement).fontSize) / LETTERS;
  return Object.fromEntries(Object.entries(USUAL).map(([name, length]) => [name, length * grown]));
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });

// The span that is shown: as short as the data allows, and at most the one that was chosen.
export const SPANS = [900, 3600];

function spanOf(points, now, most = SPANS[0]) {
  const seconds = points.length ? now - points[0].at_epoch_seconds + points[0].seconds : 0;
  return Math.min(most, [60, 120, 300, 600, 900, 1800].find((span) => seconds <= span + 5) ?? 3600);
}

export const within = (points, now, seconds) => points.filter((point) => point.at_epoch_seconds > now - seconds);

function niceTop(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value);
}

const linear = (most) => {
  const top = niceTop(most);
  return { ticks: [0, top / 2, top], place: (value) => value / top };
};

const logarithmic = (low, high) => {
  const from = Math.floor(Math.log10(low));
  const to = Math.max(from + 1, Math.ceil(Math.log10(high)));
  const ticks = [];
  for (let power = from; power <= to; power += 1) ticks.push(10 ** power);
  return { ticks, place: (value) => Math.max(0, (Math.log10(value) - from) / (to - from)) };
};

// One chart. `series` are {name, label, read, kind: area | line, dash}; areas are stacked in their order.
class Chart {
  constructor({ title, series, format, scale, empty }) {
    Object.assign(this, { title, series, format, scale, empty });
    this.values = series.map((each) => el("b", null, NOTHING));
    this.when = el("span", { class: "when" });
    const legend = series.map((each, index) =>
      el("li", { class: `key key-${each.name}` }, el("i", { "aria-hidden": "true" }), each.label, " ", this.values[index]),
    );
    this.plot = svg("svg", { class: "plot", role: "img", tabindex: "0", "aria-label": title });
    this.node = el("figure", { class: "chart" }, el("figcaption", null, el("h3", null, title), this.when, el("ul", { class: "legend" }, legend)), this.plot);
    this.cross = null;
    this.plot.addEventListener("pointermove", (event) => this.#point(event.offsetX));
    this.plot.addEventListener("pointerleave", () => this.#point(null));
    this.plot.addEventListener("blur", () => this.#point(null));
    this.plot.addEventListener("keydown", (event) => this.#step(event));
    this.onCross = () => {};
  }

  draw(all, now, cross, most) {
    this.now = now;
    this.cross = cross;
    this.edges = measured();
    this.width = Math.max(this.plot.clientWidth, 240);
    this.span = spanOf(all, now, most);
    this.points = within(all, now, this.span);
    this.plot.setAttribute("viewBox", `0 0 ${this.width} ${this.edges.height}`);
    const scale = this.scale === "log" ? this.#log() : linear(this.#most());
    replace(this.plot, this.#axes(scale), this.#areas(scale), this.#lines(scale), this.#crossLine());
    this.#tell();
  }

  #x(at) {
    return this.edges.left + (1 - (this.now - at) / this.span) * (this.width - this.edges.left - this.edges.right);
  }

  #y(scale, value) {
    return this.edges.top + (1 - Math.min(1, scale.place(value))) * (this.edges.height - this.edges.top - this.edges.bottom);
  }

  #most() {
    const stacked = this.series.filter((each) => each.kind === "area");
    const lines = this.series.filter((each) => each.kind === "line");
    const sum = (point) => stacked.reduce((total, each) => total + (each.read(point) ?? 0), 0);
    return this.points.reduce((most, point) => Math.max(most, sum(point), ...lines.map((each) => each.read(point) ?? 0)), 0);
  }

  #log() {
    const values = this.points.flatMap((point) => this.series.map((each) => each.read(point))).filter((value) => value > 0);
    return values.length ? logarithmic(Math.min(...values), Math.max(...values)) : logarithmic(0.001, 0.01);
  }

  #axes(scale) {
    const marks = scale.ticks.map((tick) => {
      const y = this.#y(scale, tick);
      return [
        svg("line", { class: "grid", x1: this.edges.left, x2: this.width - this.edges.right, y1: y, y2: y }),
        svg("text", { class: "tick", x: this.edges.left - 8, y: y + 4, "text-anchor": "end" }, this.format(tick)),
      ];
    });
    const steps = this.span <= 120 ? 30 : this.span / 5;
    for (let back = 0; back <= this.span; back += steps) {
      const label = back === 0 ? "now" : back < 120 ? `−${back} s` : `−${Math.round(back / 60)} min`;
      const x = this.#x(this.now - back);
      const anchor = back === 0 ? "end" : back === this.span ? "start" : "middle";
      marks.push([svg("text", { class: "tick", x, y: this.edges.height - 4, "text-anchor": anchor }, label)]);
    }
    return marks;
  }

  #areas(scale) {
    const areas = this.series.filter((each) => each.kind === "area");
    if (!areas.length || !this.points.length) return [];
    const base = this.points.map(() => 0);
    return areas.map((each) => {
      const below = [...base];
      this.points.forEach((point, index) => {
        base[index] += each.read(point) ?? 0;
      });
      const path = this.#steps((index) => this.#y(scale, base[index])) + this.#steps((index) => this.#y(scale, below[index]), true);
      return svg("path", { class: `area area-${each.name}`, d: `M${path.slice(1)}Z` });
    });
  }

  // A point tells about the time before it, so it is a step and not a peak.
  #steps(yOf, backwards = false) {
    const parts = this.points.map((point, index) => {
      const [from, to] = [this.#x(point.at_epoch_seconds - point.seconds), this.#x(point.at_epoch_seconds)];
      const y = yOf(index).toFixed(1);
      const [first, second] = [Math.max(this.edges.left, from).toFixed(1), Math.max(this.edges.left, to).toFixed(1)];
      return backwards ? `L${second} ${y}L${first} ${y}` : `L${first} ${y}L${second} ${y}`;
    });
    return (backwards ? parts.reverse() : parts).join("");
  }

  #lines(scale) {
    return this.series
      .filter((each) => each.kind === "line")
      .map((each) => {
        let path = "";
        let isOpen = false;
        for (const point of this.points) {
          const value = each.read(point);
          if (value === null || value === undefined) {
            isOpen = false;
            continue;
          }
          const x = Math.max(this.edges.left, this.#x(point.at_epoch_seconds - point.seconds / 2)).toFixed(1);
          path += `${isOpen ? "L" : "M"}${x} ${this.#y(scale, value).toFixed(1)}`;
          isOpen = true;
        }
        return svg("path", { class: `line line-${each.name}`, d: path || "M0 0" });
      });
  }

  #crossLine() {
    if (this.cross === null || this.cross === undefined) return [];
    const x = this.#x(this.cross);
    return x < this.edges.left ? [] : svg("line", { class: "cross", x1: x, x2: x, y1: this.edges.top, y2: this.edges.height - this.edges.bottom });
  }

  // What the cross-hair points at, or the newest values.
  #tell() {
    const isPointed = this.cross !== null && this.cross !== undefined;
    const point = isPointed
      ? this.points.find((each) => each.at_epoch_seconds >= this.cross && each.at_epoch_seconds - each.seconds <= this.cross)
      : this.points[this.points.length - 1];
    this.series.forEach((each, index) => {
      const value = point ? each.read(point) : null;
      text(this.values[index], value === null || value === undefined ? NOTHING : this.format(value));
    });
    text(this.when, isPointed ? clock.format(new Date(this.cross * 1000)) : "");
    const told = this.series.map((each, index) => `${each.label} ${this.values[index].textContent}`).join(", ");
    this.plot.setAttribute("aria-label", `${this.title}, the last ${Math.round(this.span / 60)} minutes. ${isPointed ? this.when.textContent : "Now"}: ${told}`);
  }

  #point(offset) {
    if (!this.points) return;
    const inside = this.width - this.edges.left - this.edges.right;
    const at = offset === null ? null : this.now - this.span * (1 - (offset - this.edges.left) / inside);
    this.onCross(at !== null && at <= this.now && at >= this.now - this.span ? at : null);
  }

  #step(event) {
    const step = { ArrowLeft: -5, ArrowRight: 5 }[event.key];
    if (event.key === "Escape") this.onCross(null);
    if (!step || !this.points) return;
    event.preventDefault();
    const at = (this.cross ?? this.now) + step;
    this.onCross(at >= this.now ? null : Math.max(at, this.now - this.span));
  }
}

export function timelineCharts() {
  return [
    new Chart({
      title: "Where requests go",
      format: rateText,
      series: [
        { name: "local", label: "own zone", kind: "area", read: (point) => point.local ?? 0 },
        { name: "remote", label: "other zones", kind: "area", read: (point) => point.remote ?? 0 },
        { name: "unknown", label: "zone unknown", kind: "area", read: (point) => point.unknown ?? 0 },
      ],
    }),
    new Chart({
      title: "Errors and spill",
      format: rateText,
      series: [
        { name: "error", label: "5xx", kind: "area", read: (point) => point.errors ?? 0 },
        { name: "spill", label: "spilled by load or health", kind: "line", read: (point) => point.spilled ?? 0 },
      ],
    }),
    new Chart({
      title: "How long requests take",
      format: secondsText,
      scale: "log",
      series: [
        { name: "local", label: "p50 own zone", kind: "line", read: (point) => point.p50_local },
        { name: "local-p99", label: "p99 own zone", kind: "line", read: (point) => point.p99_local },
        { name: "remote", label: "p50 other zones", kind: "line", read: (point) => point.p50_remote },
        { name: "remote-p99", label: "p99 other zones", kind: "line", read: (point) => point.p99_remote },
      ],
    }),
  ];
}
