// What a text could do without being seen, made visible.

// Controls, marks that turn text round, joiners, tags, and selectors that pick no look of a letter.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|(?<=^|[\s\ufe00-\ufe0f])[\ufe0e\ufe0f]/gu;

const written = (c) => `\\u{${c.codePointAt(0).toString(16)}}`;

/** On one line: line breaks and tabs are written out, too. */
export function visible(text) {
  return String(text ?? '').replace(UNSEEN, written);
}

/** With its lines and tabs. */
export function visibleLines(text) {
  return String(text ?? '').replace(UNSEEN, (c) => (c === '\n' || c === '\t' ? c : written(c)));
}
