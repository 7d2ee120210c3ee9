import { type Html, html } from '../http/html.ts';

export interface Tab {
  readonly title: string;
  readonly body: Html;
}

/**
 * Panels of which one is visible. The tabs are radio buttons and the stylesheet shows the panel of the checked button,
 * so tabs need no script. `group` is unique on the page. The script remembers a choice by the title of the tab.
 */
export const tabs = (group: string, label: string, all: readonly Tab[]): Html => html`
<div class="tabs" role="group" aria-label="${label}">${all.map(
  ({ title }, i) => html`
<input type="radio" name="${group}" id="${group}-${i}" value="${title}"${i === 0 ? html` checked` : undefined}>
<label for="${group}-${i}">${title}</label>`,
)}${all.map(({ body }) => html`<div class="panel">${body}</div>`)}
</div>`;
