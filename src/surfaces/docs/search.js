// Searches operations, guides, errors and scopes. The index is a static file of this gateway.

const LIMIT = 12;
const { index } = document.querySelector('script[data-index]').dataset;
const button = document.querySelector('button.find');
const dialog = document.querySelector('dialog.search');
const input = dialog.querySelector('input');
const list = dialog.querySelector('ul');
const state = dialog.querySelector('.state');

let entries;
let found = [];
let chosen = 0;

async function load() {
  entries ??= fetch(index).then((answer) => {
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return answer.json();
  });
  return entries;
}

/** How well an entry fits one word. 0: the entry does not contain the word. */
function scoreOf({ kind, title, about, words }, word) {
  const name = title.toLowerCase();
  // The first word of an operation is its name.
  if (name === word || (kind === 'Operation' && words.startsWith(`${word} `))) return 9;
  if (name.split(/[\s_]+/).some((part) => part.startsWith(word))) return kind === 'Operation' ? 6 : 5;
  if (kind === 'Operation' && words.startsWith(word)) return 5;
  if (about.toLowerCase().includes(word)) return 3;
  const all = words.toLowerCase();
  // A reader can write a name such as time_zone in one word. A whole word counts more than a part of a word.
  if (all.split(/\s+/).some((one) => one === word || one.replaceAll('_', '') === word)) return 2;
  return all.includes(word) ? 1 : 0;
}

/** Words of a question that say nothing about the subject. */
const SMALL = new Set(
  'a an and are can do does for how i in is it my of on or the to what where which with'.split(' '),
);

/** Readers' words, and the word that the documents use. */
const SAME = {
  pagination: 'page',
  paging: 'page',
  paginate: 'page',
  webhook: 'webhooks',
  auth: 'token',
  login: 'sign',
};

/** The order of entries that fit equally well. */
const KINDS = ['Operation', 'Guide', 'Scope', 'Error'];

function search(all, text) {
  const given = text
    .toLowerCase()
    .split(/[\s?]+/)
    .filter(Boolean);
  const named = given.filter((word) => !SMALL.has(word));
  const words = (named.length > 0 ? named : given).map((word) => SAME[word] ?? word);
  if (words.length === 0) return [];
  return all
    .map((entry) => ({ entry, fits: words.map((word) => scoreOf(entry, word)) }))
    .filter(({ fits }) => fits.every((one) => one > 0))
    .map(({ entry, fits }) => {
      const whole = entry.about.toLowerCase() === words.join(' ') ? 9 : 0;
      return { entry, score: fits.reduce((sum, one) => sum + one, whole) };
    })
    .sort(
      (a, b) =>
        b.score - a.score ||
        KINDS.indexOf(a.entry.kind) - KINDS.indexOf(b.entry.kind) ||
        a.entry.title.length - b.entry.title.length,
    )
    .slice(0, LIMIT)
    .map(({ entry }) => entry);
}

const part = (tag, className, text) => {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
};

function show() {
  list.replaceChildren(
    ...found.map(({ kind, title, about, url }, i) => {
      const option = document.createElement('li');
      option.id = `found-${i}`;
      option.role = 'option';
      option.ariaSelected = String(i === chosen);
      option.append(part('span', 'kind', kind), part('span', 'title', title), part('span', 'about', about));
      option.onclick = () => open(url);
      return option;
    }),
  );
  input.ariaExpanded = String(found.length > 0);
  if (found.length > 0) input.setAttribute('aria-activedescendant', `found-${chosen}`);
  else input.removeAttribute('aria-activedescendant');
  list.children[chosen]?.scrollIntoView({ block: 'nearest' });
}

/** Clicks a link, because try.js handles clicks on links to pages. */
function open(url) {
  dialog.close();
  const link = document.createElement('a');
  link.href = url;
  document.body.append(link);
  link.click();
  link.remove();
}

async function update() {
  const text = input.value;
  try {
    const all = await load();
    if (text !== input.value) return;
    found = search(all, text);
    state.textContent = text.trim() === '' ? '' : found.length === 0 ? 'Nothing found.' : `${found.length} results`;
  } catch {
    entries = undefined;
    found = [];
    state.textContent = 'The search index could not be loaded. Try again.';
  }
  chosen = 0;
  show();
}

function start() {
  if (dialog.open) return;
  dialog.showModal();
  input.select();
  update();
}

input.addEventListener('input', update);
input.addEventListener('keydown', (event) => {
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  if (event.key in steps && found.length > 0) {
    event.preventDefault();
    chosen = (chosen + steps[event.key] + found.length) % found.length;
    show();
  } else if (event.key === 'Enter' && found[chosen]) {
    event.preventDefault();
    open(found[chosen].url);
  }
});
// The dialog's content fills it, so a click on the dialog element itself is a click outside.
dialog.addEventListener('click', (event) => {
  if (event.target === dialog) dialog.close();
});
addEventListener('keydown', (event) => {
  const typing = event.target.closest?.('input, textarea, select');
  const slash = event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey;
  const letter = event.key === 'k' && (event.ctrlKey || event.metaKey);
  if (!slash && !letter) return;
  event.preventDefault();
  start();
});
button.addEventListener('click', start);
button.hidden = false;
