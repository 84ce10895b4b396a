// Makes elements. Every text becomes a text node, so nothing that the cluster says can become markup.

const SVG = "http://www.w3.org/2000/svg";
const READ_OUT = new Set(["aria-label", "title"]);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : READ_OUT.has(name) ? shown(String(value)) : String(value));
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : shown(String(child)));
  }
}

export const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

export function replace(node, ...children) {
  node.replaceChildren();
  append(node, children);
}

export function text(node, value) {
  const plain = shown(value);
  if (node.textContent !== plain) node.textContent = plain;
}

// Control characters, characters without a shape, and those that turn the direction of text are shown by their number,
// so that a name cannot look like another one.
export function shown(value) {
  return value.replace(/(?! )[\p{C}\p{Z}]/gu, (char) => `\\u${char.codePointAt(0).toString(16).padStart(4, "0")}`);
}
