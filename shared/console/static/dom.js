// Elements, and text that others have written.
//
// Nothing here makes markup of text: there is no innerHTML in the console, and the page's
// policy (Trusted Types) refuses it. Every text goes in as a text node, and what would be
// invisible in it, or turn its direction around, is shown as its code point.

const SVG = "http://www.w3.org/2000/svg";

// hidden are characters that show nothing, or change how others are shown: controls other
// than tab and line feed, format characters (direction overrides and marks, joiners, tags),
// line and paragraph separators, surrogates, private ones, and fillers.
const hidden = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\u115F\u1160\u3164\uFFA0]/gu;

const names = {
  0x0: "null", 0x7: "bell", 0x8: "backspace", 0xd: "carriage return", 0x1b: "escape", 0x7f: "delete", 0x85: "next line", 0xad: "soft hyphen",
  0x200b: "zero width space", 0x200c: "zero width non-joiner", 0x200d: "zero width joiner", 0x200e: "left-to-right mark", 0x200f: "right-to-left mark",
  0x2028: "line separator", 0x2029: "paragraph separator", 0x202a: "left-to-right embedding", 0x202b: "right-to-left embedding",
  0x202c: "pop directional formatting", 0x202d: "left-to-right override", 0x202e: "right-to-left override", 0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate", 0x2068: "first strong isolate", 0x2069: "pop directional isolate", 0xfeff: "byte order mark",
};

const code = (c) => "U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

// plain is a text for attributes and titles: what is hidden is written out.
export const plain = (text) => String(text).replace(hidden, (c) => `⟨${code(c)}⟩`);

// shown are nodes for a text.
export function shown(text) {
  const out = [];
  let from = 0;
  text = String(text);
  for (const m of text.matchAll(hidden)) {
    if (m.index > from) out.push(document.createTextNode(text.slice(from, m.index)));
    const mark = document.createElement("span");
    mark.className = "ctl";
    mark.textContent = code(m[0]);
    const name = names[m[0].codePointAt(0)];
    if (name) mark.title = name;
    out.push(mark);
    from = m.index + m[0].length;
  }
  if (from < text.length) out.push(document.createTextNode(text.slice(from)));
  return out;
}

// el makes an element. Children are nodes, texts, lists of them, or nothing.
export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// svg makes an element of a drawing.
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden" || name === "open") node[name] = value;
    else node.setAttribute(name, value === true ? "" : plain(value));
  }
  add(node, children);
  return node;
}

function add(node, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    if (Array.isArray(child)) add(node, child);
    else if (child instanceof Node) node.append(child);
    else node.append(...shown(child));
  }
}

// put replaces what is in a node.
export function put(node, ...children) {
  node.replaceChildren();
  add(node, children);
  return node;
}

// write changes a node's text where it differs, so that what stands is left alone.
const written = new WeakMap();

export function write(node, text) {
  text = String(text);
  if (written.get(node) === text) return;
  written.set(node, text);
  node.replaceChildren(...shown(text));
}

// said is text that somebody else wrote, on its own: its direction is its own, and does
// not reach what stands around it.
export const said = (text, attributes) => el("bdi", attributes, text);

// block is such a text over several lines.
export const block = (text, attributes) => el("div", { ...attributes, class: "block " + (attributes?.class ?? ""), dir: "auto" }, said(text));

// copyable is a text that is copied by a click.
export function copyable(text, say) {
  const b = el("button", { type: "button", class: "copy mono", title: "Copy" }, text);
  b.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      say("Copied.");
    } catch {
      getSelection().selectAllChildren(b);
      say("Selected: copy it.");
    }
  });
  return b;
}
