// The try-out of an operation. Only `token` holds the token. It is never stored, and sent only to this gateway.

let token = '';
/** The last write without an answer, and its idempotency key. Only the same write is sent again with the same key. */
let lost = { write: '', key: '' };
let shown = location.pathname;

const SHOWN = [
  'content-type',
  'x-request-id',
  'ratelimit',
  'retry-after',
  'etag',
  'location',
  'x-gateway-operation-id',
  'idempotency-replayed',
];

function prepare() {
  const form = document.querySelector('.try form');
  if (!form) return;
  form.parentElement.hidden = false;
  form.parentElement.open = token !== '';
  const field = form.querySelector('#token');
  field.onchange = () => take(form, field.value);
  field.onpaste = (event) => {
    event.preventDefault();
    take(form, event.clipboardData.getData('text'));
  };
  form.querySelector('.forget').onclick = () => take(form, '');
  form.onsubmit = (event) => {
    event.preventDefault();
    if (field.value !== '') take(form, field.value);
    send(form);
  };
  showToken(form);
}

/** Moves the token from the form field into `token`. */
function take(form, text) {
  token = text.trim().replace(/^Bearer\s+/i, '');
  form.querySelector('#token').value = '';
  showToken(form);
}

function showToken(form) {
  const field = form.querySelector('#token');
  field.placeholder = token === '' ? 'Paste a token' : 'Token is in memory';
  form.querySelector('.forget').disabled = token === '';
}

addEventListener('pagehide', () => {
  token = '';
  lost = { write: '', key: '' };
  const form = document.querySelector('.try form');
  if (form) take(form, '');
});

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The request of the form. Undefined if a path segment is one or two dots: a browser would change the path. */
function requestOf(form) {
  const { method, path } = form.dataset;
  const headers = { Accept: 'application/json' };
  if (token !== '') headers.Authorization = `Bearer ${token}`;
  let address = path;
  const query = new URLSearchParams();
  for (const { dataset, value } of form.querySelectorAll('[data-name]')) {
    if (value === '') continue;
    if (dataset.in === 'path' && /^\.\.?$/.test(value)) return undefined;
    if (dataset.in === 'path') address = address.replace(`{${dataset.name}}`, encodeURIComponent(value));
    else if (dataset.in === 'query') query.set(dataset.name, value);
    else headers[dataset.name] = value;
  }
  const body = form.querySelector('[data-in="body"]')?.value;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (query.size > 0) address += `?${query}`;
  const keyField = form.querySelector('[data-name="Idempotency-Key"]');
  if (keyField && keyField.value === '') {
    const write = JSON.stringify([method, address, body]);
    if (lost.write !== write) lost = { write, key: newKey() };
    headers['Idempotency-Key'] = lost.key;
  }
  return { method, address, headers, body };
}

async function send(form) {
  const request = requestOf(form);
  if (!request) return outcome(form, 'Nothing was sent. A path parameter cannot be “.” or “..”.', 'bad');
  if (request.method !== 'GET' && !(await confirmed(form, request))) return;
  const button = form.querySelector('.send button');
  button.disabled = true;
  outcome(form, 'Sending …', '');
  const began = performance.now();
  try {
    const answer = await fetch(request.address, {
      method: request.method,
      headers: request.headers,
      body: request.body,
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
    });
    const text = await answer.text();
    const took = Math.round(performance.now() - began);
    lost = { write: '', key: '' };
    const kind = answer.ok ? 'ok' : 'bad';
    outcome(form, `${answer.status} ${answer.statusText} · ${took} ms · ${text.length} characters`, kind);
    showAnswer(form, answer, text);
  } catch {
    // Keep the key, because the gateway may have done the write.
    outcome(form, 'No answer. Is the gateway running? A repeat of a write uses the same key.', 'bad');
  } finally {
    button.disabled = false;
  }
}

function confirmed(form, { method, address }) {
  const dialog = form.querySelector('dialog.confirm');
  dialog.querySelector('.target').textContent = `${method} ${address}`;
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === 'yes');
    dialog.querySelector('.no').onclick = () => dialog.close('no');
    dialog.querySelector('.yes').onclick = () => dialog.close('yes');
    dialog.returnValue = 'no';
  });
}

function outcome(form, text, kind) {
  const line = form.querySelector('.outcome');
  form.querySelector('.result').hidden = false;
  line.textContent = text;
  line.dataset.kind = kind;
  form.querySelector('.received').replaceChildren();
  form.querySelector('.result code').replaceChildren();
}

function showAnswer(form, answer, text) {
  const rows = SHOWN.filter((name) => answer.headers.has(name)).map((name) => {
    const row = document.createElement('div');
    row.append(element('dt', name), element('dd', answer.headers.get(name)));
    return row;
  });
  form.querySelector('.received').replaceChildren(...rows);
  const code = form.querySelector('.result code');
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    code.textContent = text;
    return;
  }
  code.replaceChildren(...coloured(JSON.stringify(value, null, 2)));
  if (typeof value?.code !== 'string' || answer.ok) return;
  const link = element('a', 'What does this error mean?');
  link.href = `/docs/errors#${encodeURIComponent(value.code)}`;
  form.querySelector('.outcome').append(' ', link);
}

function element(tag, text, className = '') {
  const made = document.createElement(tag);
  made.textContent = text;
  made.className = className;
  return made;
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d[\d.eE+-]*|true|false|null/g;

/** The parts of a JSON text, coloured like the examples. */
function* coloured(text) {
  let end = 0;
  for (const { 0: all, 1: string, 2: colon, index } of text.matchAll(TOKEN)) {
    yield text.slice(end, index);
    const kind = string === undefined ? (/\d/.test(all) ? 'number' : 'literal') : colon ? 'attr' : 'string';
    yield element('span', string ?? all, `t-${kind}`);
    yield colon ?? '';
    end = index + all.length;
  }
  yield text.slice(end);
}

/** Loads a page. Undefined if the gateway does not answer with a page of this documentation. */
async function load(address) {
  try {
    const answer = await fetch(address);
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html');
    return answer.ok && next.querySelector('.frame') ? next : undefined;
  } catch {
    return undefined;
  }
}

/** While a token is in memory, shows another page in this document, so that the reader pastes the token only once. */
async function turnTo(address, push) {
  const next = await load(address);
  const form = document.querySelector('.try form');
  if (!next && push && form) {
    form.parentElement.open = true;
    return outcome(form, 'The page could not be loaded. Is the gateway running?', 'bad');
  }
  if (!next) return location.assign(address);
  if (push) history.pushState(null, '', address);
  shown = location.pathname;
  document.title = next.title;
  const { scrollTop } = document.querySelector('#side');
  for (const part of ['.frame', '.tops']) document.querySelector(part).replaceWith(next.querySelector(part));
  document.querySelector('#side').scrollTop = scrollTop;
  document.dispatchEvent(new Event('page'));
  scrollTo(0, 0);
  document.querySelector('main').focus({ preventScroll: true });
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
  prepare();
}

document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href^="/docs"]');
  if (!link || token === '' || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  if (link.pathname === shown) return;
  event.preventDefault();
  turnTo(link.href, true);
});
addEventListener('popstate', () => {
  // Only the fragment has changed, so the page stays.
  if (location.pathname !== shown) turnTo(location.href, false);
});
prepare();
