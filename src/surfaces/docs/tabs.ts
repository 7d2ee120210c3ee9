import { type Html, html } from '../http/html.ts';

/**
 * Shows one panel at a time, by its title. The tabs are radio buttons, because these need no script. `group` must be
 * unique on the page. The script stores the reader's choice under it.
 */
export const tabs = (group: string, label: string, panels: Readonly<Record<string, Html>>): Html => html`
<div class="tabs" role="group" aria-label="${label}">${Object.keys(panels).map(
  (title, i) => html`
<input type="radio" name="${group}" id="${group}-${i}" value="${title}"${i === 0 ? html` checked` : undefined}>
<label for="${group}-${i}">${title}</label>`,
)}${Object.values(panels).map((body) => html`<div class="panel">${body}</div>`)}
</div>`;
