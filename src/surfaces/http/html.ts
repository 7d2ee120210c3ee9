/** HTML that may stand in a page as it is. */
export class Html {
  constructor(readonly text: string) {}
}

type Value = string | number | Html | readonly Value[] | undefined;

/** A template whose values are escaped, unless they are HTML already. Lists are joined, `undefined` is left out. */
export const html = (parts: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(parts.map((part, i) => part + render(values[i])).join(''));

function render(value: Value): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value));
  return value.map(render).join('');
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);

/** Text in the form of an anchor: lower case, words joined by hyphens. */
export const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '');

/**
 * A block of code under a label that says where it belongs. It can be focused, because it may scroll sideways.
 */
export const code = (label: string, text: string): Html => html`
<figure class="code">
  <figcaption>${label}</figcaption>
  <pre tabindex="0"><code>${text}</code></pre>
</figure>`;
