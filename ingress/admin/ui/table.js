// A table of any length: sorted by its headings, and only the rows that can be seen are in the document.

import { el, replace } from "./dom.js";

const AROUND = 8; // rows beyond the edge, so that scrolling shows no gap

// `columns` are {title, cell, sort?, number?, level?}; `level` 2 and 3 are left out on narrow screens.
export class Table {
  constructor({ columns, caption, empty, href, sort, down = false, rowHeight = 44 }) {
    Object.assign(this, { columns, empty, href, rowHeight, rows: [], order: sort, direction: down ? -1 : 1 });
    this.heads = columns.map((column, index) => this.#head(column, index));
    this.body = el("tbody");
    this.table = el("table", null, el("caption", { class: "unseen" }, caption), el("thead", null, el("tr", { "aria-rowindex": 1 }, this.heads)), this.body);
    this.hint = el("p", { class: "empty" });
    this.node = el("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": caption }, this.table, this.hint);
    this.node.addEventListener("scroll", () => this.#draw(), { passive: true });
    this.node.addEventListener("keydown", (event) => this.#move(event));
    this.#mark();
  }

  show(rows) {
    const column = this.columns[this.order];
    this.rows = column?.sort ? sorted(rows, column.sort, this.direction) : rows;
    this.#draw();
  }

  #head(column, index) {
    const label = column.sort ? el("button", { type: "button", onclick: () => this.#sortBy(index) }, column.title) : column.title;
    return el("th", { scope: "col", class: classOf(column) }, label);
  }

  #sortBy(index) {
    this.direction = this.order === index ? -this.direction : this.columns[index].number ? -1 : 1;
    this.order = index;
    this.#mark();
    this.show(this.rows);
  }

  #mark() {
    this.heads.forEach((head, index) => {
      if (index === this.order) head.setAttribute("aria-sort", this.direction > 0 ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  }

  #draw() {
    const { rows, rowHeight } = this;
    const first = Math.max(0, Math.min(rows.length, Math.floor(this.node.scrollTop / rowHeight)) - AROUND);
    const seen = Math.ceil((this.node.clientHeight || 600) / rowHeight) + 2 * AROUND;
    const last = Math.min(rows.length, first + seen);
    this.table.setAttribute("aria-rowcount", rows.length + 1);
    this.#settle(first * rowHeight, rows.slice(first, last).map((row, index) => this.#row(row, first + index)), (rows.length - last) * rowHeight);
    this.table.hidden = rows.length === 0;
    this.hint.hidden = rows.length > 0;
    if (!rows.length) replace(this.hint, this.empty());
  }

  // Rows that are there stay, and of these only cells that differ are replaced: a click or a selection survives news.
  #settle(above, fresh, below) {
    const known = new Map([...this.body.children].map((row) => [row.dataset.key, row]));
    const kept = fresh.map((row) => {
      const old = known.get(row.dataset.key);
      if (!old) return row;
      old.setAttribute("aria-rowindex", row.getAttribute("aria-rowindex"));
      [...row.children].forEach((cell, index) => old.children[index].isEqualNode(cell) || old.children[index].replaceWith(cell));
      return old;
    });
    const all = [space("above", above), ...kept, space("below", below)].filter(Boolean);
    const same = all.length === this.body.children.length && all.every((row, index) => row === this.body.children[index]);
    if (!same) {
      const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
      this.body.replaceChildren(...all);
      if (focused?.isConnected) focused.focus({ preventScroll: true });
    }
  }

  #row(row, index) {
    const cells = this.columns.map((column, number) => el(number ? "td" : "th", { scope: number ? null : "row", class: classOf(column) }, column.cell(row)));
    const attributes = { "aria-rowindex": index + 2, "data-key": `row ${row.name ?? index}`, class: this.href ? "leads" : null };
    if (this.href) attributes.onclick = (event) => event.target.closest("a") || (location.hash = this.href(row));
    return el("tr", attributes, cells);
  }

  #move(event) {
    if (event.target !== this.node) return;
    const rows = { Home: -this.rows.length, End: this.rows.length, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!rows) return;
    event.preventDefault();
    this.node.scrollTop += rows * this.rowHeight;
  }
}

const order = (one, other) => (one < other ? -1 : one > other ? 1 : 0);

// Sorted by what `read` returns; rows without a value come last in both directions, and equal ones by name.
function sorted(rows, read, direction) {
  const compared = (a, b) => {
    const [left, right] = [read(a) ?? null, read(b) ?? null];
    if (left === null || right === null) return (left === null) - (right === null);
    return order(left, right) * direction;
  };
  return [...rows].sort((a, b) => compared(a, b) || order(a.name, b.name));
}

const classOf = (column) => [column.number ? "number" : "", column.level ? `level-${column.level}` : "", column.class ?? ""].filter(Boolean).join(" ") || null;

function space(key, height) {
  const cell = el("td", { class: "space" });
  cell.style.height = `${height}px`;
  return height > 0 ? el("tr", { "aria-hidden": "true", "data-key": `space ${key}` }, cell) : null;
}
