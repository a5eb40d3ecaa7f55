// Words, numbers and times as people read them.

import { h, say } from './dom.js';

import { visible } from './unseen.js';

export { visible };

const whole = new Intl.NumberFormat('en');
export const count = (n) => whole.format(n ?? 0);
export const many = (n, one, more = `${one}s`) => `${count(n)} ${n === 1 ? one : more}`;

export function bytes(n) {
  if (n === null || n === undefined) return '–';
  if (n < 1000) return `${n} B`;
  for (const [unit, size] of [['KB', 1e3], ['MB', 1e6], ['GB', 1e9]]) {
    const value = n / size;
    if (value < 999.5) return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${unit}`;
  }
  return `${(n / 1e12).toFixed(1)} TB`;
}

export function millis(ms) {
  if (ms === null || ms === undefined) return '–';
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** How long ago a moment was, given in seconds. */
export function ago(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  return span(Date.now() / 1000 - seconds, ' ago');
}

export function span(passed, after = '') {
  if (passed < 5) return after ? 'just now' : 'a moment';
  for (const [unit, size] of [['s', 60], ['min', 60], ['h', 24], ['d', 365]]) {
    if (passed < size) return `${Math.round(passed)} ${unit}${after}`;
    passed /= size;
  }
  return `${Math.round(passed)} y${after}`;
}

export function clock(iso) {
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? '' : at.toLocaleTimeString('en-GB');
}

/** The text with every word of a question marked. */
export function marked(text, question) {
  const shown = visible(text);
  const words = [...new Set(question.toLowerCase().split(/\s+/).filter(Boolean))];
  if (!words.length) return [shown];
  const any = words.sort((a, b) => b.length - a.length).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return shown.split(new RegExp(`(${any.join('|')})`, 'giu')).map((part, n) => (n % 2 ? h('mark', null, part) : part));
}

/** A button that copies; `text` may be made when it is pressed. */
export function copier(label, text, title) {
  const button = h('button.quiet', {
    type: 'button', title: title ?? `Copy ${label}`,
    async onclick() {
      const value = typeof text === 'function' ? text() : text;
      try {
        await navigator.clipboard.writeText(value);
      } catch {
        const area = h('textarea.unseen', { value });
        document.body.append(area);
        area.select();
        document.execCommand('copy');
        area.remove();
      }
      button.classList.add('done');
      say(`${label} copied`);
      setTimeout(() => button.classList.remove('done'), 1200);
    },
  }, label);
  return button;
}

/** What a server is called by its type, in few letters. */
export function kind(type) {
  if (!type) return '';
  const known = {
    'text/plain': 'text', 'text/markdown': 'markdown', 'application/json': 'JSON', 'text/csv': 'CSV', 'text/html': 'HTML',
    'application/octet-stream': 'binary', 'image/svg+xml': 'SVG', 'application/pdf': 'PDF', 'text/x-python': 'Python',
    'application/x-ipynb+json': 'notebook',
  };
  return known[type] ?? visible(type.replace(/^(text|application|image|audio|video)\/(x-)?/, ''));
}
