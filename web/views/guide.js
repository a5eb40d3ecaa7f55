// Guide: local knowledge by category and collection, and its documents to edit, with what
// becomes of them beside.

import { ask, send } from '../lib/api.js';
import { fill, h, later, say } from '../lib/dom.js';
import { merge } from '../lib/merge.js';
import { here, keep, resource } from '../lib/router.js';
import { sorry } from '../lib/sorry.js';
import { ago, many, visible } from '../lib/text.js';

// What is written and not saved yet is kept by the browser, so that no way out of the view loses it.
const DRAFT = 'trove-draft:';
const NEW = '# Title\n\n';

const draftOf = (category, path) => {
  try {
    return JSON.parse(localStorage.getItem(`${DRAFT}${category}/${path}`));
  } catch {
    return null;
  }
};
const dropDraft = (category, path) => localStorage.removeItem(`${DRAFT}${category}/${path}`);

function keepDraft(category, path, draft) {
  try {
    localStorage.setItem(`${DRAFT}${category}/${path}`, JSON.stringify({ ...draft, at: Date.now() / 1000 }));
    return true;
  } catch {
    return false;
  }
}

export async function show({ signal }) {
  const names = h('div.shelves');
  const side = h('div.side2');
  let guide = await ask('guide', {}, signal);
  let open = null;

  function draw() {
    const now = here().params;
    const wanted = [now.get('category'), now.get('path')];
    const is = (category, path) => wanted[0] === category && wanted[1] === path;
    const go = (category, path) => { keep({ category, path }); edit(); draw(); };
    const unsaved = (category, path) => (draftOf(category, path) ? h('span.tag.fair', null, 'not saved') : null);
    fill(names,
      guide.categories.map((category) => h('section', null,
        h('h2', null, visible(category.name), h('span.soft', null, many(category.total, 'document'))),
        category.description ? h('p.soft', null, visible(category.description)) : null,
        h('ul.picks', { 'aria-label': `Documents of ${visible(category.name)}` },
          category.documents.map((one) => h('li', null, h('button', { type: 'button', 'aria-current': is(category.name, one.path) ? 'true' : undefined, onclick: () => go(category.name, one.path) },
            h('b', null, visible(one.title ?? one.path), ' ', unsaved(category.name, one.path)), h('span.mono.soft', null, visible(one.path))))),
          h('li', null, h('button.plain', { type: 'button', onclick: () => go(category.name, '') }, 'New document', ' ', unsaved(category.name, '')))))),
      guide.collections.length ? h('section', null, h('h2', null, 'Collections'), h('ul.bare', null, guide.collections.map((one) => h('li', null,
        h('a', { href: resource(`guide://collection/${encodeURIComponent(one.name)}`) }, visible(one.name)), ' ', h('span.soft', null, visible(one.description ?? one.members.join(', '))),
        one.problem ? h('p.note', null, visible(one.problem)) : null)))) : null);
  }

  async function edit() {
    const now = here().params;
    const [category, path] = [now.get('category'), now.get('path')];
    open = null;
    if (!category) {
      fill(side, h('div.empty', null, h('h2', null, 'Choose a document'), h('p', null, 'It is shown as it was written, with what becomes of it beside. What you save is served at once.')));
      return;
    }
    try {
      const found = path ? await ask('guide/source', { category, path }, signal) : { text: null };
      open = desk(side, category, path ?? '', found, signal, draw, async (saved) => {
        guide = await ask('guide', {}, signal);
        keep({ category: saved ? category : '', path: saved });
        if (!saved) edit();
        draw();
      });
    } catch (error) {
      if (!signal.aborted) fill(side, sorry(error, edit));
    }
  }

  const node = guide.categories.length ? h('section.page.guide', null,
    h('header.head', null, h('h1', null, 'Guide'), h('p.lead', null, 'Guidelines, runbooks and requirements, which every client finds under ', h('code', null, 'guide://'), '.')),
    h('div.split', null, names, side)) : empty();
  draw();
  await edit();
  return {
    title: 'Guide', node,
    update() { edit(); draw(); return true; },
    // What is being written stays as it is.
    holds: () => Boolean(side.querySelector('.desk')),
    async hear(name, data) { if (name === 'lists' && data.resources) { guide = await ask('guide', {}, signal); draw(); open?.meet(); } },
  };
}

/** The document as text and as it will look. Gives a way to see whether somebody else changed it. */
function desk(side, category, path, { document: known, text }, signal, marked, saved) {
  const draft = draftOf(category, path);
  // A draft is saved upon the text it was begun with, so that a change of another is noticed.
  let before = draft ? draft.before : text;
  const status = h('span.soft', { role: 'status' });
  const name = h('input.mono', { id: 'doc-path', type: 'text', value: draft?.name ?? path, placeholder: 'name.md', autocomplete: 'off', spellcheck: false, readOnly: before !== null, oninput: changed });
  const area = h('textarea.mono', { id: 'doc-text', value: draft?.text ?? before ?? NEW, spellcheck: true, oninput: changed });
  const frame = h('iframe.frame', { title: 'Preview', sandbox: '', referrerPolicy: 'no-referrer' });
  const save = h('button', { type: 'submit', disabled: !draft }, 'Save');
  const other = h('div', { role: 'status' });
  const discard = h('button.quiet', { type: 'button', hidden: !draft, onclick: forget }, 'Discard');
  const is = () => area.value !== (before ?? NEW);
  const look = later(async () => {
    const { ticket, looks } = await send('guide/preview', { name: name.value || 'draft.md', text: area.value }, signal).catch(() => ({}));
    if (ticket) frame.src = `/api/show/${ticket}/0?${new URLSearchParams({ as: looks[0], theme: document.documentElement.dataset.theme })}`;
  }, 250);
  function changed() {
    save.disabled = !is() || !name.value.trim();
    const had = Boolean(draftOf(category, path));
    if (!is()) dropDraft(category, path);
    else if (!keepDraft(category, path, { name: name.value, text: area.value, before })) return fill(status, h('span.bad', null, 'This browser keeps no draft: save before you leave'));
    if (had !== is()) marked();
    said();
    look();
  }
  function said() {
    const kept = draftOf(category, path);
    if (!kept) return fill(status);
    fill(status, `Not saved, kept in this browser ${ago(kept.at)}`);
    discard.hidden = false;
  }
  function forget() {
    dropDraft(category, path);
    before = text;
    area.value = text ?? NEW;
    name.value = path;
    changed();
    discard.hidden = true;
  }
  let saving = false;
  async function store(event) {
    event.preventDefault();
    if (save.disabled) return;
    save.disabled = true;
    saving = true;
    fill(status, 'Saving');
    const sent = area.value;
    try {
      const answer = await send('guide/save', { category, path: name.value.trim(), before, text: sent }, signal);
      before = sent;
      text = sent;
      dropDraft(category, path);
      discard.hidden = true;
      // What was typed while it was being saved is a draft again.
      path = answer.value?.path ?? name.value;
      name.readOnly = true;
      more.hidden = false;
      name.value = answer.value?.path ?? name.value;
      fill(status, 'Saved');
      say('Saved');
      await saved(name.value);
      if (is()) changed();
    } catch (error) {
      save.disabled = false;
      fill(status, h('span.bad', null, visible(error.message)));
      if (error.status === 409 && before !== null) clash(await ask('guide/source', { category, path }, signal).catch(() => ({})));
    } finally {
      saving = false;
    }
  }
  /** Tells while one is still typing that somebody else saved. */
  async function meet() {
    if (saving || before === null) return;
    const { text: theirs } = await ask('guide/source', { category, path }, signal).catch(() => ({}));
    if (theirs === undefined || theirs === null || theirs === before || saving) return;
    if (is()) return clash({ text: theirs });
    before = theirs;
    text = theirs;
    area.value = theirs;
    look();
    fill(status, 'Changed by somebody else just now');
  }
  async function rename() {
    const to = name.value.trim();
    const { path: now } = (await send('guide/rename', { category, path, to }, signal)).value ?? {};
    dropDraft(category, path);
    path = now ?? to;
    say('Renamed');
    await saved(path);
  }
  async function remove() {
    await send('guide/remove', { category, path }, signal);
    dropDraft(category, path);
    say('Deleted');
    await saved('');
  }
  /** Asks in place before something is done that cannot be undone, or takes a name. */
  function sure(question, yes, work) {
    const stop = () => {
      name.readOnly = true;
      name.value = path;
      fill(other);
    };
    const go = h('button', { type: 'button', async onclick() {
      go.disabled = true;
      saving = true;
      try {
        fill(status);
        await work();
        stop();
      } catch (error) {
        fill(status, h('span.bad', null, visible(error.message)));
        go.disabled = false;
      } finally {
        saving = false;
      }
    } }, yes);
    fill(other, h('div.note.line', null, h('span', null, question), h('span.fill'), go, h('button', { type: 'button', onclick: stop }, 'Cancel')));
  }
  const more = h('span.line', { hidden: before === null },
    h('button.quiet', { type: 'button', onclick() {
      if (is()) return fill(status, h('span.bad', null, 'Save it first, or discard the change'));
      name.readOnly = false;
      name.select();
      sure('Write its new name above. Its address changes with it.', 'Rename it', rename);
    } }, 'Rename'),
    h('button.quiet', { type: 'button', onclick: () => sure('Delete it for good? Nobody keeps a copy.', 'Delete it', remove) }, 'Delete'));
  /** Somebody else changed it meanwhile: their text, and a choice. */
  function clash({ text: theirs }) {
    if (theirs === undefined || theirs === null) return;
    const mine = () => {
      before = theirs;
      fill(other);
      changed();
      save.click();
    };
    const take = () => {
      text = theirs;
      fill(other);
      forget();
    };
    const both = before === null ? null : merge(before, area.value, theirs);
    const put = () => {
      area.value = both.text;
      before = theirs;
      text = theirs;
      fill(other);
      changed();
      if (both.clashes) fill(status, h('span.bad', null, `${many(both.clashes, 'place')} changed by both: look for <<<<<<<`));
      area.focus();
    };
    fill(other, h('div.note', null,
      h('p', null, 'It was changed by somebody else after you began. Yours is on the left below; this is theirs:'),
      h('pre.box', { tabIndex: 0 }, theirs),
      h('div.line', null, both ? h('button', { type: 'button', onclick: put }, 'Put both together') : null, h('button', { type: 'button', onclick: mine }, 'Save mine instead'), h('button', { type: 'button', onclick: take }, 'Take theirs'))));
  }
  fill(side, h('form.desk', { onsubmit: store, onkeydown(event) { if ((event.ctrlKey || event.metaKey) && event.key === 's') store(event); } },
    h('div.tools', null,
      h('label', { htmlFor: 'doc-path' }, visible(category), ' /'), name, h('span.fill'), status,
      discard, more, known ? h('a.quiet', { href: resource(known.uri) }, 'As clients get it') : null, save),
    other,
    h('div.halves', null, h('label.unseen', { htmlFor: 'doc-text' }, 'Text'), area, frame)));
  if (draft) said();
  if (draft && draft.before !== null && draft.before !== text) clash({ text });
  look();
  return { meet };
}

function empty() {
  return h('section.page', null, h('div.empty', null,
    h('h1', null, 'No guide here yet'),
    h('p', null, 'Guidelines, runbooks and requirements can live under ', h('code', null, 'guide://'), ', where every client finds them as resources instead of in one long prompt.'),
    h('p', null, h('code', null, 'trove init'), ' writes one to start from; it is any folder ', h('code', null, 'guide'), ' of documents beside ', h('code', null, 'trove.toml'), '.'),
    h('p.soft', null, 'What can be asked for is in ', h('a.mono', { href: resource('guide://help') }, 'guide://help'), '.')));
}
