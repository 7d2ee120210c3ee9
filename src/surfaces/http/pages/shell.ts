import type { Resource } from '../../../core/authority.ts';
import { type Html, html } from '../html.ts';

/** Longest name that a page shows, in Unicode characters. */
const NAME = 120;
/** Longest e-mail address, in Unicode characters: 64 before the @ and 255 after the @ (RFC 5321, section 4.5.3.1). */
export const EMAIL = 320;
/** Longest host that a page shows, in characters. A DNS name with a port is shorter. */
const HOST = 260;

/**
 * Invisible and private-use characters, which can reverse, hide or fake the text around them. Joiners and variation
 * selector 16 stay allowed, because words and emoji need them.
 */
const UNSEEN = /(?!\u200c|\u200d|\ufe0f)[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Co}]/gu;
const SPACE = /[\s\u2800]+/gu;
/** Matches more than four marks on one letter. No writing system needs more, and the marks would cover other lines. */
const PILE = /((?:\p{M}|\u200c|\u200d){4})(?:\p{M}|\u200c|\u200d)+/gu;

/** Makes untrusted text safe to show on one line (check CP-05), and cuts the text to `length` characters. */
export function plain(text: string, length = Number.POSITIVE_INFINITY): string {
  const line = text.toWellFormed().replace(SPACE, ' ').replace(UNSEEN, '').replace(PILE, '$1').trim();
  const characters = [...line];
  return characters.length > length ? `${characters.slice(0, length - 1).join('')}…` : line;
}

/** Makes untrusted text of several lines safe to show, and keeps the line breaks. */
export const lines = (text: string): string =>
  text
    .toWellFormed()
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    .replace(UNSEEN, (mark) => (mark === '\n' || mark === '\t' ? mark : ''))
    .replace(PILE, '$1')
    .trim();

/** Shows an untrusted name. The name is isolated, so that its text direction does not change the text around it. */
export function named(text: string, length = NAME): Html {
  const name = plain(text, length);
  return html`<bdi>${/[\p{L}\p{N}\p{P}\p{S}]/u.test(name) ? name : '(no name)'}</bdi>`;
}

/** Shows a host. A long host loses its start, because the end of a host shows who owns it. */
export function hostOf(host: string): Html {
  const text = plain(host);
  return html`<bdi class="host">${text.length > HOST ? `…${text.slice(1 - HOST)}` : text}</bdi>`;
}

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The names of the interfaces. */
export const INTERFACES: Readonly<Record<Resource, string>> = { rest: 'REST', mcp: 'MCP', a2a: 'A2A' };

interface PageContents {
  readonly title: string;
  readonly kind: 'narrow' | 'wide' | 'console';
  /** The content of `main`. A page of the kind `console` brings its own `main`. */
  readonly body: Html;
  /** The path of a second stylesheet. All pages have the stylesheet oauth.css. */
  readonly style?: string;
}

/** An HTML document without scripts, inline styles or foreign content. It loads only its stylesheets. */
export const shell = ({ title, kind, body, style }: PageContents): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · Installation Gateway</title>
<link rel="stylesheet" href="/oauth/oauth.css">${
    style &&
    html`
<link rel="stylesheet" href="${style}">`
  }
</head>
<body>
${
  kind === 'console'
    ? body
    : html`<header class="bar"><p class="brand">Installation Gateway</p></header>
<main class="${kind}">${body}
</main>`
}
</body>
</html>
`.text;
