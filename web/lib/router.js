// Where the page is: everything it shows is in its address, behind `#/`.

/** The view and its values. */
export function here() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { view: path || 'home', params: new URLSearchParams(query ?? '') };
}

/** The address of a view. */
export function to(view, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== '') query.append(name, one);
  }
  const text = query.toString();
  return `#/${view === 'home' ? '' : view}${text ? `?${text}` : ''}`;
}

export const resource = (uri, more) => to('resource', { uri, ...more });

/** Goes there, so that Back comes back. */
export function go(address) {
  location.hash = address;
}

/** Changes values of this view without a step for Back, and without drawing it anew. */
export function keep(changes) {
  const { view, params } = here();
  for (const [name, value] of Object.entries(changes)) {
    params.delete(name);
    for (const one of [value].flat()) if (one !== undefined && one !== null && one !== '') params.append(name, one);
  }
  const text = params.toString();
  history.replaceState(null, '', `#/${view === 'home' ? '' : view}${text ? `?${text}` : ''}`);
}
