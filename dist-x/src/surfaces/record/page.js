import { html } from '../http/html.js';
import { lines, named, plain, shell } from '../http/pages/shell.js';
/** The path of the stylesheet of these pages. */
export const STYLE = '/c/record.css';
const KINDS = { conversation: 'Conversation', contact: 'Contact', visitor: 'Visitor' };
const AUTHORS = {
    visitor: 'Visitor',
    operator: 'Operator',
    bot: 'Bot',
    system: 'System',
};
/** The labels of the facts that the heading of the page already shows. */
const HEADINGS = new Set(['Subject', 'Name', 'Nickname']);
/** The page of a record. People read the page, so the words of outsiders have no fences. */
export function recordPage({ id, viewer, record, signOut }) {
    const { title, metadata, parts } = record;
    const { contacts = [], visitors = [], conversations = [], notes = [] } = parts.lists;
    const clock = clockOf(viewer.website?.timeZone ?? 'UTC');
    const kind = KINDS[metadata.kind];
    const talked = metadata.kind === 'conversation';
    const noted = section('Notes', notes.map(noteOf(clock)));
    const had = section('Conversations', conversations.map(conversationOf(clock)));
    const about = html `<div class="side">
  <dl class="list">${parts.facts
        .filter(({ label, value }) => !(HEADINGS.has(label) && value === title))
        .map((one) => html `<div><dt>${one.label}</dt><dd>${fact(one, clock)}</dd></div>`)}
  <div><dt>Id</dt><dd><code>${id}</code></dd></div></dl>
</div>`;
    const words = html `<div class="words">${talked
        ? talk(parts.messages, ending(record, clock), clock)
        : had || noted
            ? [had, noted]
            : html `<p>There are no conversations and no notes.</p>`}</div>`;
    const body = html `
${who(viewer, signOut)}
<p class="kind">${kind} on ${named(viewer.website?.name ?? '')}</p>
<h1 dir="auto">${named(title, 240)}</h1>
${metadata.truncated
        ? html `<p class="note">The record is longer than this page. The page leaves out the oldest parts.</p>`
        : undefined}
<div class="record">
${talked ? [words, about] : [about, words]}
<div class="side more">${section('Contacts', contacts.map(contact))}${section('Visitors', visitors.map(visitorOf(clock)))}${talked ? noted : undefined}</div>
</div>
<p class="small">Times are in ${plain(clock.zone)}.</p>`;
    return shell({ title: `${kind} ${id}`, kind: 'wide', body, style: STYLE });
}
/** The 404 page. `signed` is absent for a malformed id, which needs no sign-in. */
export function missingPage(signed) {
    const body = html `
${signed && who(signed.viewer, signed.signOut)}
<h1>No such record</h1>
<p class="lead">${signed ? named(signed.viewer.organization) : 'This gateway'} has no record at this address.</p>
<p>Check that you have copied the whole address.${signed ? ' If the record belongs to another of your organizations, sign out and sign in there.' : undefined}</p>`;
    return shell({ title: 'No such record', kind: 'narrow', body, style: STYLE });
}
const who = ({ email, organization }, signOut) => html `<div class="who">
  <p class="small">${named(organization)} · ${named(email, 320)}</p>
  <form method="post" action="${signOut}"><button class="plain" type="submit">Sign out</button></form>
</div>`;
const section = (title, items) => items.length === 0
    ? undefined
    : html `<section><h2>${title}</h2><ul class="items">${items.map((item) => html `<li>${item}</li>`)}</ul></section>`;
const said = (value) => typeof value === 'string' && value.trim() !== '' ? value : undefined;
/** A link to the page of another record. */
const link = (id, words) => html `<a href="/c/${String(id)}">${said(words) === undefined ? String(id) : named(String(words))}</a>`;
const HAS_PAGE = /^(?:cnv|ctc|vis)_/;
function fact({ value, name, said }, clock) {
    if (said)
        return html `<bdi>${plain(value)}</bdi>`;
    if (HAS_PAGE.test(value))
        return link(value, name);
    if (name !== undefined)
        return html `${named(name)} <code>${value}</code>`;
    return clock(value) ?? html `<bdi>${plain(value)}</bdi>`;
}
const contact = ({ id, name, email, mobile_e164, mobile }) => html `${link(id, name)}${[email, mobile_e164 ?? mobile].map((one) => said(one) && html `<span class="small">${named(String(one), 320)}</span>`)}`;
const visitorOf = (clock) => ({ id, nickname, last_seen_at }) => html `${link(id, nickname)}${clock(last_seen_at) && html `<span class="small">last seen ${clock(last_seen_at)}</span>`}`;
const conversationOf = (clock) => ({ id, subject, status, created_at }) => html `${link(id, subject)}<span class="small">${clock(created_at)} · ${String(status)}</span>`;
const noteOf = (clock) => ({ title, text, author, created_at }) => html `${said(title) && html `<strong>${named(String(title), 240)}</strong>`}<p class="text" dir="auto">${lines(String(text ?? ''))}</p>
<span class="small">${[named(said(author) ?? 'Unknown author'), clock(created_at)].map((one, n) => one && [n > 0 ? ', ' : '', one])}</span>`;
const talk = (messages, end, clock) => html `<section>
<h2>Messages</h2>
${messages.length === 0 ? html `<p>There are no messages.</p>` : html `<ol class="messages">${messages.map((one) => message(one, clock))}</ol>`}
${end}
</section>`;
/** A line that says how the conversation ended. Undefined for an open conversation. */
function ending({ parts }, clock) {
    const of = (label) => parts.facts.find((one) => one.label === label)?.value;
    const [closed, disposition, rating] = [of('Closed'), of('Disposition'), of('Rating')];
    if (closed === undefined)
        return undefined;
    return html `<p class="end">Closed ${clock(closed)}${disposition && html ` · disposition ${named(disposition, 200)}`}${rating && html ` · rated ${named(rating)}`}</p>`;
}
function message({ row, files }, clock) {
    const author = Object(row['author']); // the view of messages has these members
    const role = AUTHORS[author.type ?? ''] ?? 'System';
    const internal = row['visibility'] === 'internal';
    const marks = [
        internal && 'internal',
        Object(row['ai'])['generated'] === true && 'written by AI',
        row['edited_at'] !== null && 'edited',
        row['delivery_status'] === 'failed' && 'not delivered',
    ].filter((mark) => typeof mark === 'string');
    return html `<li class="message ${internal ? 'internal' : role.toLowerCase()}">
<p class="head"><strong>${named(said(author.name) ?? role)}</strong>${said(author.name) && ` · ${role}`} · ${clock(row['created_at'])}${marks.map((mark) => html ` · <em>${mark}</em>`)}</p>
${words(row)}${files.length > 0 ? html `<ul class="files">${files.map(file)}</ul>` : undefined}
</li>`;
}
function words(row) {
    if (row['redacted'] === true)
        return html `<p class="gone">The text was removed.</p>`;
    const text = said(row['text']);
    return text === undefined ? undefined : html `<p class="text" dir="auto">${lines(text)}</p>`;
}
const file = ({ name, media_type, size }) => html `<li>${named(String(name), 255)} <span class="small">${named(String(media_type))}, ${bytes(Number(size))}</span></li>`;
const bytes = (size) => size < 1_024
    ? `${size} bytes`
    : size < 1_048_576
        ? `${Math.round(size / 1_024)} KiB`
        : `${(size / 1_048_576).toFixed(1)} MiB`;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;
/** True for every name that the runtime accepts. `Intl.supportedValuesOf` lacks aliases, such as Asia/Kolkata. */
function isZone(name) {
    try {
        new Intl.DateTimeFormat(undefined, { timeZone: name });
        return true;
    }
    catch {
        return false;
    }
}
/** Writes times in the time zone of the website. A zone that this runtime does not know becomes UTC. */
function clockOf(wanted) {
    const zone = isZone(wanted) ? wanted : 'UTC';
    const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: zone });
    const clock = (value) => {
        const at = typeof value === 'string' && TIME.test(value) ? new Date(value) : undefined;
        if (at === undefined || Number.isNaN(at.getTime()))
            return undefined;
        return html `<time datetime="${at.toISOString()}">${format.format(at)}</time>`;
    };
    return Object.assign(clock, { zone });
}
//# sourceMappingURL=page.js.map