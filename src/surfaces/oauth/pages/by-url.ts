import { CLASSES, type ScopeText } from '../../../core/scope-texts.ts';
import { DATA_ACCESS, type DataAccess } from '../../../core/scopes.ts';
import { type Html, html } from '../../http/html.ts';
import { capital, hostOf, named } from '../../http/pages/shell.ts';

/** What the consent page of a client by URL shows and asks in addition. */
export interface ByUrlView {
  /** The host of the client's URL. */
  readonly host: string;
  /** True when this request sends the browser to the person's own machine, whatever else the document lists. */
  readonly loopback: boolean;
  readonly durations: readonly { readonly name: string; readonly text: string }[];
  /** The person's choice in a form that was already sent. */
  readonly dataAccess: readonly DataAccess[];
  readonly duration: string | undefined;
}

export const checked = (yes: boolean | undefined): Html | undefined => (yes === true ? html` checked` : undefined);

export const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

export const client = ({ host }: ByUrlView, name: string): Html => html`<div><dt>App</dt><dd>${hostOf(host)}
    <span class="small">The app calls itself ${named(name)}. The gateway has checked only the host.</span></dd></div>`;

export const LOOPBACK = html`<p class="note"><strong>This app runs on your own machine.</strong> Every program on your
machine can pretend to be this app. Approve only if you have just started the app yourself.</p>`;

/** The data-access flags that a permission needs. The person grants them apart from the permission. */
export function flagged({ flags, acts }: ScopeText): Html | undefined {
  if (flags.length === 0) return undefined;
  const names = listed(flags.map((flag) => CLASSES[flag]));
  const ticks = `your tick${flags.length === 1 ? '' : 's'}`;
  return html`<p class="small">${acts ? `Works only with ${ticks} for ${names}` : `Shows ${names} only with ${ticks}`} under
<a href="#data-access">Data access</a>.</p>`;
}

const ABOUT: Readonly<Record<DataAccess, string>> = {
  message_content: 'What visitors and colleagues have written in conversations.',
  pii: 'Names, e-mail addresses, telephone numbers and other data about a person.',
  internal_notes: 'Notes and messages that only colleagues see.',
};

export const dataAccess = ({ dataAccess: chosen }: ByUrlView): Html => html`
<fieldset class="part" id="data-access" aria-describedby="data-access-about">
  <legend>Data access</legend>
  <p id="data-access-about">A permission shows sensitive data only if you also tick the kind of data here.</p>
  <div class="cards">${DATA_ACCESS.map(
    (flag) => html`
    <div class="card">
      <input type="checkbox" id="data-${flag}" name="data_access" value="${flag}" aria-describedby="about-data-${flag}"${checked(chosen.includes(flag))}>
      <div>
        <label for="data-${flag}">${capital(CLASSES[flag])}</label>
        <p id="about-data-${flag}">${ABOUT[flag]}</p>
      </div>
    </div>`,
  )}
  </div>
</fieldset>`;

export const durations = ({ durations: offered, duration }: ByUrlView): Html => html`
<fieldset class="part" id="duration" aria-describedby="duration-about">
  <legend>For how long</legend>
  <p id="duration-about">The app can use its access without asking you again for the time that you choose.</p>
  <div class="cards">${offered.map(
    ({ name, text }) => html`
    <div class="card">
      <input type="radio" id="duration-${name}" name="duration" value="${name}"${checked(name === duration)}>
      <div><label for="duration-${name}">${text}</label></div>
    </div>`,
  )}
  </div>
</fieldset>`;
