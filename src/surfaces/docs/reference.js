/**
 * Replaces the list of operations on the page with the renderer openapi-explorer. The script also corrects three faults
 * of the renderer. The attributes of the renderer cannot correct these faults.
 *
 * - In a narrow window, the renderer hides the meaning of parameters and opens operations only after a click. So this
 *   script keeps the wide layout.
 * - The renderer scrolls its list of operations while the page loads. The next Tab key would then start after the skip
 *   link.
 * - The renderer shows nothing for a URL without a fragment.
 */

/** Styles for the parts of the renderer that have their own shadow root. */
const PARTS = `
:host {
  --red: var(--ink-red);
  --green: var(--ink-green);
  --blue: var(--ink-blue);
  --orange: var(--ink-orange);
  --yellow: var(--ink-yellow);
  --purple: var(--ink-purple);
}
:focus-visible { outline: 2px solid var(--primary-color) !important; outline-offset: -2px; }
`;

/** Styles for the renderer's main shadow root, which holds the operations and their parameters. */
const ROOT = `
#the-main-body {
  --red: var(--ink-red);
  --green: var(--ink-green);
  --blue: var(--ink-blue);
  --orange: var(--ink-orange);
  --yellow: var(--ink-yellow);
  --purple: var(--ink-purple);
}
:focus-visible { outline: 2px solid var(--primary-color) !important; outline-offset: -2px; }
.main-content:focus { outline: 0 !important; }
.nav-bar.focused, .nav-scroll { border-top: 0; }
.nav-bar { border-right: 1px solid var(--border-color); }
.nav-scroll { padding: 12px 0; }
.nav-bar-info, .nav-bar-tag { padding: 10px 12px; font-size: 15px; color: var(--fg); }
.nav-bar-path { font-size: 15px; }
.sticky-scroll-element { display: none; }
.security-info-button { display: none; }
h2 { font-weight: 650; }
.param-name, .param-type { text-align: left; line-height: 1.4; }
.m-table td { padding: 4px 12px; }
.m-table td:nth-child(2) { display: none; }
.param-constraint { padding-bottom: 12px; }
.tooltip > div:first-child { flex: none; margin-right: 4px !important; }
.tooltip > div:nth-child(2) { white-space: normal !important; overflow-wrap: anywhere; }
.tooltip > .tooltip-text { display: none !important; }
.tooltip.tooltip-replace { cursor: auto !important; }
.tooltip.tooltip-replace:hover { visibility: visible; color: inherit; }
@media (max-width: 767.98px) {
  .section-gap--focused-mode { padding: 16px; }
  .m-table, .m-table tbody, .m-table tr, .m-table td { display: block; width: auto !important; min-width: 0 !important; }
  .m-table td:nth-child(2) { display: none; }
  .m-table td:nth-child(3) { border-top: 0 !important; }
  .param-name { margin-top: 8px !important; }
  .param-type { margin-bottom: 0 !important; }
  .param-description, .param-constraint { margin-top: 0 !important; }
}
`;

const ATTRIBUTES = {
  'spec-url': '/api/v1/openapi.json',
  tree: '',
  'hide-authentication': '',
  'hide-components': '',
  'hide-console': '',
  'hide-search': '',
  'hide-server-selection': '',
};

const START = 'overview';
const main = document.querySelector('main');
const Explorer = customElements.get('openapi-explorer');

function style(name, rules) {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rules);
  customElements.get(name).elementStyles.push(sheet);
}

/**
 * When the URL has no fragment, adds the fragment of the first page. The new URL replaces the old URL in the browser's
 * history.
 */
function nameStart() {
  if (!location.hash.includes('route=')) history.replaceState(null, '', `#?route=${START}`);
}

let acted = false;
for (const kind of ['keydown', 'pointerdown', 'hashchange']) {
  const note = () => {
    acted = true;
  };
  addEventListener(kind, note, { capture: true, once: true });
}

/**
 * Makes the next Tab key select the first link of the page. Without this function, the key would select a link further
 * down, because the renderer has scrolled the page.
 */
function beginAtTop() {
  if (document.activeElement !== document.body) return;
  document.body.tabIndex = -1;
  document.body.focus({ preventScroll: true });
  document.body.removeAttribute('tabindex');
}

class Reference extends Explorer {
  handleResize() {
    this.renderStyle = 'focused';
  }

  async scrollTo(id, _takeFocus, index) {
    if (!id) nameStart();
    await super.scrollTo(id || START, false, index);
    this.shadowRoot.getElementById(`link-${id}`)?.scrollIntoView({ block: 'nearest' });
    if (!acted) beginAtTop();
  }
}
customElements.define('gateway-reference', Reference);

style('gateway-reference', ROOT);
for (const name of ['api-response', 'schema-tree', 'syntax-highlighter']) style(name, PARTS);

nameStart();
const reference = document.createElement('gateway-reference');
for (const [name, value] of Object.entries(ATTRIBUTES)) reference.setAttribute(name, value);
reference.id = main.id;
const overview = document.createElement('div');
overview.slot = 'overview';
overview.className = 'overview';
overview.append(...main.childNodes);
// Add an empty slot. Without it, the renderer would repeat the description of the document below the overview.
const description = document.createElement('span');
description.slot = 'overview-api-description';
reference.append(overview, description);
main.replaceWith(reference);

function readOn() {
  const content = reference.shadowRoot.querySelector('.main-content');
  if (!content) return;
  content.tabIndex = -1;
  content.focus({ preventScroll: true });
}

addEventListener('hashchange', readOn);
// The URL's fragment names the operation that is shown, so the skip link must not change the fragment.
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  readOn();
});
