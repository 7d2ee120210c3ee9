import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import http from 'highlight.js/lib/languages/http';
import json from 'highlight.js/lib/languages/json';
import typescript from 'highlight.js/lib/languages/typescript';
import { escapeHtml, Html, html } from '../http/html.ts';

const LANGUAGES = { bash, http, json, typescript };
export type Language = keyof typeof LANGUAGES;

for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);
// The stylesheet uses the same prefix.
hljs.configure({ classPrefix: 't-' });

/** A program text with coloured words. A text in another language stays plain. */
export const highlighted = (text: string, language: string): Html =>
  new Html(hljs.getLanguage(language) ? hljs.highlight(text, { language }).value : escapeHtml(text));

/** A block of code with a label. The block accepts focus, so that keyboard users can scroll the block sideways. */
export const code = (label: string, text: string, language: Language): Html => html`
<figure class="code">
  <figcaption>${label}</figcaption>
  <pre tabindex="0"><code>${highlighted(text, language)}</code></pre>
</figure>`;

export const json2 = (value: unknown): string => JSON.stringify(value, null, 2);
