import { type Html, html } from '../http/html.ts';
import type { Asked } from './page.ts';
import { LIST_MAX } from './query.ts';

const FORMAT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
const DAY = 86_400_000;

/** A time, in UTC. */
export const time = (at: Date): Html => html`<time datetime="${at.toISOString()}">${FORMAT.format(at)}</time>`;

/** How far away a time is, in words. The title has the time itself. */
export function distance(at: Date, now = Date.now()): string {
  const far = Math.abs(at.getTime() - now);
  const [n, unit] =
    far < DAY / 24 ? [far / (DAY / 1440), 'minute'] : far < 2 * DAY ? [far / (DAY / 24), 'hour'] : [far / DAY, 'day'];
  const count = Math.max(1, Math.floor(n));
  const words = `${count} ${unit}${count === 1 ? '' : 's'}`;
  return at.getTime() > now ? `in ${words}` : `${words} ago`;
}

/** The time of something that ends, and how far away it is. */
export const ends = (at: Date): Html => html`${time(at)} <span class="small">${distance(at)}</span>`;

type Tone = 'good' | 'warn' | 'bad' | 'off';

/** A state as a word. The colour repeats the word. */
export const state = (word: string, tone: Tone): Html => html`<span class="state ${tone}">${word}</span>`;

/** A name and a value, below each other on a phone. */
export const facts = (rows: readonly (readonly [name: string, value: Html | string] | undefined)[]): Html => html`
<dl class="list">${rows.map((row) => row && html`<div><dt>${row[0]}</dt><dd>${row[1]}</dd></div>`)}</dl>`;

const NUMBER = new Intl.NumberFormat('en');

/** A number that was counted to LIST_MAX + 1 at most. */
export const atMost = (n: number): string => (n > LIST_MAX ? `more than ${NUMBER.format(LIST_MAX)}` : NUMBER.format(n));

/** A value as a shell takes it: in quotes, if it has a character that a shell does not take as it is. */
export const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * A command for one person. It names the person by id, because an e-mail address could read as an option of the command,
 * and then as another person.
 */
export const personCommand = (name: 'unlock' | 'password' | 'sign-in-link', id: string): string =>
  `gateway person ${name} ${shellWord(id)}`;

/** Commands of the operator, where somebody would look for a button. One click marks a whole line for copying. */
export const commands = (...lines: readonly string[]): Html => html`
${lines.map((line) => html`<pre class="command" tabindex="0" aria-label="Command"><code>${line}</code></pre>`)}
<p class="small">In a checkout, write <code>npm run --silent gateway --</code> for <code>gateway</code>.</p>`;

/** Why a form has changed nothing: the same thing was changed after the form was shown. */
export const changedMeanwhile = (says: Html | string): Html => html`
<div class="problem" role="alert"><p>Your change was not made</p><p>It was changed after this page was shown. ${says}</p></div>`;

interface ActForm {
  readonly action: string;
  readonly button: string;
  /** What a screen reader says, where several buttons of a page have the same words. */
  readonly label?: string;
  readonly fields?: Html;
  readonly tone?: 'main' | 'danger' | 'plain';
}

/** The form of a change. The action is the address of a `ConsoleAct`. */
export const actForm = (
  asked: Pick<Asked, 'csrf'>,
  { action, button, label, fields, tone = 'main' }: ActForm,
): Html => html`
<form class="act" method="post" action="${action}">
  <input type="hidden" name="csrf" value="${asked.csrf(action)}">${fields}
  <p class="buttons"><button class="${tone}" type="submit"${label === undefined ? undefined : html` aria-label="${label}"`}>${button}</button></p>
</form>`;

/** A change that cannot be undone. The person opens the part, reads what ends, and presses the button. */
export const dangerous = (
  asked: Pick<Asked, 'csrf'>,
  { summary, says, action, button }: { summary: string; says: Html; action: string; button: string },
): Html => html`
<details class="danger"><summary>${summary}</summary>
<p>${says}</p>${actForm(asked, { action, button, tone: 'danger' })}
</details>`;
