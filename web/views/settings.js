// Settings: the configuration in force, who decided each, and the limits.

import { ask } from '../lib/api.js';
import { h } from '../lib/dom.js';
import { resource } from '../lib/router.js';
import { copier, count, visible } from '../lib/text.js';

export async function show({ signal }) {
  const [{ settings, server, security, standing }, { pending }] = await Promise.all([ask('settings', {}, signal), ask('overview', {}, signal)]);
  const later = pending?.after_restart ?? [];
  const { config = {}, origins = {}, state_dir: state } = settings ?? {};
  const sections = Object.entries(config).filter(([name]) => name !== 'servers' && name !== 'policy');
  return {
    title: 'Settings',
    node: h('section.page.settings', null,
      h('header.head', null, h('h1', null, 'Settings'), h('p.lead', null, 'What is in force, and who decided it. To change something edit ', h('code', null, 'trove.toml'),
        '; changes are taken over at once, those of limits, doors and logs at the next start. Secrets are never shown.')),
      later.length ? h('p.note', null, 'Changed in the file, and in force after a restart of Trove: ', later.map((name) => [h('code', null, `[${name}]`), ' '])) : null,
      servers(config.servers ?? {}),
      h('h2', null, 'Everything else'),
      h('table.sheet', null, h('thead', null, h('tr', null, ['Setting', 'Value', 'Decided by'].map((name) => h('th', { scope: 'col' }, name)))),
        h('tbody', null, sections.flatMap(([section, values]) => Object.entries(values).map(([key, value]) => {
          const name = `${section}.${key}`;
          return h('tr', null, h('th.mono', { scope: 'row' }, name), h('td.mono', null, shown(value)), h('td.soft', null, origins[name] ?? ''));
        })), h('tr', null, h('th.mono', { scope: 'row' }, 'state_dir'), h('td.mono', null, visible(state ?? '')), h('td.soft', null, origins.state_dir ?? '')))),
      policy(config.policy ?? []),
      h('h2', null, 'You'),
      h('dl.pairs', null, pairs({ door: standing.door, roles: standing.roles.join(', ') || 'none', 'roles come from': standing.roles_from })),
      h('h2', null, 'Limits'),
      h('p.soft', null, 'These hold for everybody; the same is told under ', h('a.mono', { href: resource('config://security') }, 'config://security'), '.'),
      h('dl.pairs.columns', null, pairs({ ...numbers(security), ...security.limits, ...security.rate_limits, protocol_versions: server.protocol_versions.join(', ') }))),
  };
}

function numbers(security) {
  return Object.fromEntries(Object.entries(security).filter(([, value]) => typeof value === 'number' && value > 0));
}

function shown(value) {
  if (typeof value === 'number') return count(value);
  return typeof value === 'string' ? visible(value) : visible(JSON.stringify(value));
}

const pairs = (values) => Object.entries(values).map(([name, value]) => [h('dt', null, visible(name.replaceAll('_', ' '))), h('dd', null, shown(value))]);

function servers(all) {
  const entries = Object.entries(all);
  return [h('h2', null, 'Servers'), entries.length ? h('div.cards', null, entries.map(([id, server]) => h('article.card', null,
    h('header', null, h('h3', null, visible(id)), copier('Copy', () => JSON.stringify({ [id]: server }, null, 2))),
    h('pre.small', { tabIndex: 0 }, visible(server.url ?? [server.command, ...(server.args ?? [])].join(' '))),
    h('dl.pairs.small', null, Object.entries(server).filter(([key]) => !['url', 'command', 'args'].includes(key)).map(([key, value]) => [h('dt', null, visible(key)), h('dd.mono', null, shown(value))])))))
    : h('p.soft', null, 'None yet. Home shows how to add one.')];
}

function policy(rules) {
  return [h('h2', null, 'Policy'), rules.length ? h('table.sheet', null,
    h('thead', null, h('tr', null, ['What', 'Who may read it', 'Others'].map((name) => h('th', { scope: 'col' }, name)))),
    h('tbody', null, rules.map((rule) => h('tr', null, h('td.mono', null, visible(rule.match)), h('td', null, rule.roles.map(visible).join(', ') || 'nobody'), h('td.soft', null, rule.visible ? 'see that it is there' : 'see nothing')))))
    : h('p.soft', null, 'No rules: whoever is let in may read everything.')];
}
