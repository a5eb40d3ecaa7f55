// Elements as nested calls. Text is always text: nothing here reads HTML, and what could act
// unseen is written out, whoever the text is from.

import { visible, visibleLines } from './unseen.js';

// Properties that people read.
const READ = new Set(['title', 'alt', 'placeholder', 'label', 'aria-label']);

/** Makes an element: `h('a.big', { href }, 'words', child)`. */
export function h(what, props, ...children) {
  const [tag, ...classes] = what.split('.');
  const node = document.createElement(tag || 'div');
  if (classes.length) node.className = classes.join(' ');
  give(node, props);
  add(node, children);
  return node;
}

/** The same for drawings. */
export function svg(tag, props, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(props ?? {})) node.setAttribute(name, value);
  add(node, children);
  return node;
}

function give(node, props) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (READ.has(name) && typeof value === 'string') {
      node.setAttribute(name, visible(value));
      continue;
    }
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (name === 'class') node.className += ` ${value}`;
    else if (name in node && !name.startsWith('aria') && name !== 'list' && name !== 'role') node[name] = value;
    else node.setAttribute(name, value === true ? '' : value);
  }
}

function add(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : visibleLines(child));
  }
}

/** Puts other children into an element. */
export function fill(node, ...children) {
  node.replaceChildren();
  add(node, children);
  return node;
}

/** Calls `work` when nothing has asked for it for a moment. */
export function later(work, ms) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), ms);
  };
}

/** Says something to those who listen instead of looking. */
export function say(text) {
  const place = document.getElementById('said') ?? document.body.appendChild(h('div.unseen', { id: 'said', role: 'status' }));
  place.textContent = visible(text);
}
