import { createRequire } from 'node:module';
import { escapeHtml, Html, html } from '../http/html.js';
const LANGUAGES = ['bash', 'http', 'json', 'typescript'];
const require = createRequire(import.meta.url);
let loaded;
/** Loads the highlighter with the first page. Loading takes 30 ms, and a start must not wait for it. */
function highlighter() {
    if (loaded)
        return loaded;
    const made = require('highlight.js/lib/core');
    for (const name of LANGUAGES)
        made.registerLanguage(name, require(`highlight.js/lib/languages/${name}`));
    // The stylesheets use the same prefix.
    made.configure({ classPrefix: 't-' });
    loaded = made;
    return made;
}
/** A text in an unknown language stays plain. */
export function highlighted(text, language) {
    const known = highlighter().getLanguage(language) !== undefined;
    return new Html(known ? highlighter().highlight(text, { language }).value : escapeHtml(text));
}
export const code = (label, text, language) => labelled(label, text, language);
/** A block of code with a label and a copy button. With focus, keyboard users can scroll it sideways. */
export const labelled = (label, text, language) => html `
<figure class="code">
  <figcaption>${label}</figcaption>
  <pre tabindex="0"><code>${breakable(highlighted(text, language))}</code></pre>
</figure>`;
/** Lets a line break before the signs / and & of an address. Otherwise a narrow block breaks words. */
const breakable = ({ text }) => new Html(text.replace(/&amp;|(?<!<)\/(?=\w)/g, '<wbr>$&'));
export const json2 = (value) => JSON.stringify(value, null, 2);
//# sourceMappingURL=highlight.js.map