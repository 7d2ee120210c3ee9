import { html } from '../http/html.js';
/**
 * Shows one panel at a time, by its title. The tabs are radio buttons, because these need no script. `group` must be
 * unique on the page. The script stores the reader's choice under it.
 */
export const tabs = (group, label, panels) => html `
<div class="tabs" role="group" aria-label="${label}">${Object.keys(panels).map((title, i) => html `
<input type="radio" name="${group}" id="${group}-${i}" value="${title}"${i === 0 ? html ` checked` : undefined}>
<label for="${group}-${i}">${title}</label>`)}${Object.values(panels).map((body) => html `<div class="panel">${body}</div>`)}
</div>`;
//# sourceMappingURL=tabs.js.map