import { type Html, html } from '../http/html.ts';

export interface Tab {
  readonly title: string;
  readonly body: Html;
}

/**
 * Panels with tabs. Only the panel of the chosen tab is visible. The tabs are radio buttons, because radio buttons need
 * no script. `group` must be unique on the page. The script stores the reader's choice under the name of the group.
 */
export const tabs = (group: string, label: string, all: readonly Tab[]): Html => html`
<div class="tabs" role="group" aria-label="${label}">${all.map(
  ({ title }, i) => html`
<input type="radio" name="${group}" id="${group}-${i}" value="${title}"${i === 0 ? html` checked` : undefined}>
<label for="${group}-${i}">${title}</label>`,
)}${all.map(({ body }) => html`<div class="panel">${body}</div>`)}
</div>`;
