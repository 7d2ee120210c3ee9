import { type Html, html } from '../../http/html.ts';

/** Unicode characters. */
const NAME = 120;
/** Unicode characters of an e-mail address (decisions, section 4). */
export const EMAIL = 320;
/** Longer than a name in the DNS with a port. */
const HOST = 260;

/** Invisible, or of private use: they turn, hide or fake what stands around them. Joiners make words and emoji. */
const UNSEEN = /(?!\u200c|\u200d|\ufe0f)[\p{Cc}\p{Default_Ignorable_Code_Point}\p{Co}]/gu;
const SPACE = /[\s\u2800]+/gu;
/** More than a writing system puts on one letter would run over the lines around it. */
const PILE = /((?:\p{M}|\u200c|\u200d){4})(?:\p{M}|\u200c|\u200d)+/gu;

/** Text that others wrote, so that it stays within its own line (checks, CP-05); at most `length` characters. */
export function plain(text: string, length = Number.POSITIVE_INFINITY): string {
  const line = text.toWellFormed().replace(SPACE, ' ').replace(UNSEEN, '').replace(PILE, '$1').trim();
  const characters = [...line];
  return characters.length > length ? `${characters.slice(0, length - 1).join('')}…` : line;
}

/** A name that others gave, isolated from the direction of the text around it. */
export function named(text: string, length = NAME): Html {
  const name = plain(text, length);
  return html`<bdi>${/[\p{L}\p{N}\p{P}\p{S}]/u.test(name) ? name : '(no name)'}</bdi>`;
}

/** A host that is too long loses its beginning: whose it is stands at the end. */
export function hostOf(host: string): Html {
  const text = plain(host);
  return html`<bdi class="host">${text.length > HOST ? `…${text.slice(1 - HOST)}` : text}</bdi>`;
}

/** A document without script, inline style or anything from elsewhere: its styles are all it loads. */
export const shell = ({ title, kind, body }: { title: string; kind: 'narrow' | 'wide'; body: Html }): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title} · Installation Gateway</title>
<link rel="stylesheet" href="/oauth/oauth.css">
</head>
<body>
<header class="bar"><p class="brand">Installation Gateway</p></header>
<main class="${kind}">${body}
</main>
</body>
</html>
`.text;
