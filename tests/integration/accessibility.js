// What a page needs so that everybody can use it; the value is a list of what is missing: names of controls, labels, one
// main heading, order of headings, contrast of text (WCAG 2.2, 1.4.3: 4.5 to 1, or 3 to 1 for large text), no sideways
// scrolling of the whole page, unique ids.
(() => {
  const problems = [];
  const seen = (node) => node.getClientRects().length > 0 && getComputedStyle(node).visibility !== "hidden";
  const nameOf = (node) =>
    (node.getAttribute("aria-label") ?? "") + (node.getAttribute("title") ?? "") + node.textContent +
    [...(node.labels ?? [])].map((label) => label.textContent).join("");
  for (const node of document.querySelectorAll("a, button, input, textarea, select, [role=region], [role=img], nav"))
    if (seen(node) && !nameOf(node).trim()) problems.push(`no name: ${node.outerHTML.slice(0, 80)}`);
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  if (new Set(ids).size !== ids.length) problems.push(`ids are not unique: ${ids}`);
  for (const node of document.querySelectorAll("[aria-labelledby]"))
    if (!document.getElementById(node.getAttribute("aria-labelledby"))) problems.push(`no label: ${node.outerHTML.slice(0, 80)}`);
  if (document.querySelectorAll("main").length !== 1) problems.push("not one main");
  if (document.querySelectorAll("h1").length !== 1) problems.push("not one h1");
  let level = 0;
  for (const node of document.querySelectorAll("h1, h2, h3, h4")) {
    const next = Number(node.tagName[1]);
    if (next > level + 1) problems.push(`a heading skips a level: ${node.textContent}`);
    level = next;
  }
  if (!document.documentElement.lang) problems.push("no language");
  for (const table of document.querySelectorAll("table"))
    if (seen(table) && !table.querySelector("th")) problems.push("a table without headings");
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width + 1) problems.push(`the page scrolls sideways: ${document.documentElement.scrollWidth} > ${width}`);

  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const colour = (text) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = text;
    pen.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = (top, below) => [0, 1, 2].map((part) => top[part] * top[3] + below[part] * (1 - top[3])).concat(1);
  const ground = (node) => {
    const layers = [];
    for (let each = node; each; each = each.parentElement) layers.push(colour(getComputedStyle(each).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const light = (rgb) => {
    const [red, green, blue] = rgb.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !seen(node) || node.closest(".unseen, .skip, script, noscript, svg")) continue;
    const style = getComputedStyle(node);
    const below = ground(node);
    const [front, back] = [light(over(colour(style.color), below)), light(below)];
    const contrast = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (contrast < (isLarge ? 3 : 4.5)) problems.push(`contrast ${contrast.toFixed(2)}: ${node.textContent.slice(0, 40)} ${style.color}`);
  }
  return problems;
})()
