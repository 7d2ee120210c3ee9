// The theme switch, the copy buttons, and the memory of chosen tabs.

const ICONS = {
  auto: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm0 0v12',
  light: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1',
  dark: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7Z',
};
const THEMES = Object.keys(ICONS);
const root = document.documentElement;

/** Keeps a choice for the next visit. If the browser refuses storage, the choice lasts until the page closes. */
function keep(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    return false;
  }
  return true;
}

function kept(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

const themeButton = document.querySelector('button.theme');

function showTheme() {
  const theme = THEMES.includes(root.dataset.theme) ? root.dataset.theme : 'auto';
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  themeButton.innerHTML = `<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="${ICONS[theme]}"/></svg>`;
  themeButton.ariaLabel = `Theme: ${theme}. Change to ${next}.`;
  themeButton.title = themeButton.ariaLabel;
  themeButton.onclick = () => {
    root.dataset.theme = next;
    keep('theme', next);
    showTheme();
  };
}
showTheme();
themeButton.hidden = false;

/** Adds the copy buttons and selects the tabs that the reader chose before. */
function prepare(part) {
  // The clipboard exists only on pages over TLS or on this machine.
  for (const figure of navigator.clipboard ? part.querySelectorAll('figure.code') : []) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.ariaLabel = `Copy ${figure.querySelector('figcaption').textContent}`;
    button.onclick = async () => {
      await navigator.clipboard.writeText(figure.querySelector('code').textContent);
      button.textContent = 'Copied';
      setTimeout(() => {
        button.textContent = 'Copy';
      }, 1_500);
    };
    figure.querySelector('figcaption').append(button);
  }
  for (const tabs of part.querySelectorAll('.tabs')) {
    const inputs = [...tabs.querySelectorAll(':scope > input')];
    const name = `tab-${inputs[0].name}`;
    const chosen = inputs.find(({ value }) => value === kept(name));
    if (chosen) chosen.checked = true;
    for (const input of inputs) input.onchange = () => keep(name, input.value);
  }
}
prepare(document);
// try.js sends this event after it has put another operation into the page.
document.addEventListener('page', () => prepare(document.querySelector('main')));

// Scroll the list of pages to the open page. scrollIntoView would also move the place where the Tab key starts.
const side = document.querySelector('#side');
const open = side.querySelector('[aria-current="page"]');
if (open) side.scrollTop = open.offsetTop - side.clientHeight / 2;
