/**
 * Makes conversations.ndjson from texts.json. `node resources/demo/generate.mjs` writes the file. With `--check` the
 * script only compares, and exits with 1 if the file differs.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { crc32, deflateSync } from 'node:zlib';

/** The demo's time. src/sources/files/demo.ts moves all times from this time to the present. */
const NOW = Date.parse('2026-11-15T12:00:00Z');
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const { statuses, topics, ratings, gear, phones, sites, titles, spam, languages } = JSON.parse(read('texts.json'));
const BOT = { id: 'op-lark', name: 'Lark' };
const FORMER = 'op-sam';
/** The first conversations are spam: in English and on the first website, because the list starts with them. */
const SPAM = 16;
/** At most this many conversations look active when the demo is loaded. */
const RECENT = 12;

// mulberry32 has 32 bits of state and gives the same sequence on every machine. Every draw moves the state, so a new
// draw changes all later records.
let state = 1;
function next() {
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
}
/** A whole number from `low` to `high`, both included. */
const int = (low, high) => low + Math.floor(next() * (high - low + 1));
const chance = (probability) => next() < probability;
const pick = (items) => items[Math.floor(next() * items.length)];
const some = (probability, value) => (chance(probability) ? value : undefined);
const range = (length, make) => Array.from({ length }, (_, i) => make(i));

const iso = (time) => (time === undefined ? undefined : new Date(time).toISOString());

function fill(text, values) {
  return text.replaceAll(/\{(\w+)\}/g, (_, slot) => {
    if (values[slot] === undefined) throw new RangeError(`no value for slot ${slot}`);
    return values[slot];
  });
}

/** A day in a text, with the form in which the text names it. The import moves the day and writes it in this form. */
const day = (time, form) => `{${iso(time).slice(0, 10)} ${form}}`;
/** The text as it is at the demo's time. */
const written = (text) =>
  text.replace(/\{\d+-(\d+)-(\d+) (.+?)\}/g, (_, month, date, form) =>
    form.replace(/DD?|MM?/g, (part) => String(Number(part[0] === 'D' ? date : month)).padStart(part.length, '0')),
  );

function person(site, { language, first, last, places }, number, silent = false) {
  const key = `${site.key}-${language}-${number + 1}`;
  const known = silent || chance(0.72);
  return {
    visitor: `vis-${key}`,
    ...{ site, language, places },
    // Every twelfth person has two contacts that nobody has merged yet.
    contacts: known ? [`con-${key}`, ...(number % 12 === 11 ? [`con-${key}-b`] : [])] : [],
    first: pick(first.split(' ')),
    last: pick(last.split(' ')),
    email: `${language}.${site.key}.${number + 1}@${pick(['example.com', 'example.net', 'example.org', 'mail.example'])}`,
  };
}

function populate() {
  const people = languages.flatMap((language) =>
    sites.flatMap((site) => {
      const group = [];
      for (let i = 0; i < Math.ceil(language[site.key] * 0.62); i++) {
        const one = person(site, language, i);
        // Every tenth visitor is a second device of the previous person.
        group.push(i % 10 === 9 ? { ...group[i - 1], visitor: one.visitor } : one);
      }
      return group;
    }),
  );
  // People in the address book who have never written a message.
  const silent = range(24, (i) => person(sites[i % 2], pick(languages), 900 + i, true));
  return { people, silent };
}

function plan(people) {
  const keyed = Object.entries(statuses)
    .flatMap(([status, count]) => range(count, () => status))
    .map((status) => [next(), status]);
  const shuffled = keyed.sort(([a], [b]) => a - b).map(([, status]) => status);
  const places = languages.flatMap((language) =>
    sites.flatMap((site) => range(language[site.key], (i) => ({ site, language, i }))),
  );
  return places.map(({ site, language, i }, position) => {
    const status = position < SPAM ? 'spam' : shuffled[position - SPAM];
    const person = pick(people.filter((one) => one.site === site && one.language === language.language));
    const anonymous = (status === 'missed' || status === 'unassigned') && chance(0.15);
    const script = status === 'spam' ? pick(spam) : language.scripts[i % language.scripts.length];
    // `api` means that an integration has created the conversation without a channel.
    const platform = anonymous ? 'api' : pickPlatform(site);
    const ended = status === 'closed' || status === 'missed' || status === 'spam';
    return { site, language, status, ended, script, platform, person, visitor: anonymous ? undefined : person.visitor };
  });
}

function pickPlatform(site) {
  const drawn = next();
  if (drawn < 0.48) return 'chat';
  if (drawn < 0.74) return 'email';
  return drawn < (site.key === 'us' ? 0.82 : 0.94) ? 'whatsapp' : 'voice';
}

function conversations(plans) {
  let recent = 0;
  let logs = 0;
  const placed = plans.map((plan) => {
    const { site, language, status, ended, script } = plan;
    const able = site.operators.filter((one) => one.languages.includes(language.language));
    const operator = pick(able.length > 0 ? able : site.operators);
    const duringLastHours = !ended && plan.platform !== 'email' && recent < RECENT && chance(0.3);
    if (duringLastHours) recent += 1;
    const about = duringLastHours ? NOW : daytime(site, ended ? 43 : 16);
    const talk = { ...plan, operator, slots: slotsFor(plan, operator, about) };
    const said = say(talk);
    if (status === 'closed' && script.topic === 'Warranty' && site === sites[logs]) {
      logs += 1;
      said.push(...withLog(plan));
    }
    const length = said.reduce((sum, { wait }) => sum + wait, 0);
    const latest = NOW - length - (duringLastHours ? int(2, 150) : int(180, 400)) * MINUTE;
    const start = duringLastHours ? latest : Math.min(latest, about);
    return { ...talk, said, start: Math.max(start, NOW - 45 * DAY + HOUR) };
  });
  placed.sort((a, b) => a.start - b.start);
  const presence = new Map();
  const parts = placed.map((talk, i) => {
    const part = write(talk, `cnv-${String(i + 1).padStart(4, '0')}`);
    const seen = presence.get(talk.visitor);
    presence.set(talk.visitor, { first: seen?.first ?? talk.start, last: Math.max(seen?.last ?? 0, part.last) });
    return part;
  });
  presence.delete(undefined);
  // The messages of all conversations are stored in order of time, so that their native ids rise with time.
  const messages = parts.flatMap((part) => part.messages).sort((a, b) => a.at - b.at);
  const records = [
    ...parts.map(({ conversation }) => conversation),
    ...messages.map(({ message }) => message),
    ...messages.flatMap(({ files }) => files),
    ...parts.flatMap(({ results }) => results),
  ];
  return { records, presence };
}

/** A time in the daytime of the website. */
function daytime(site, days) {
  const hour = 7 + ((next() + next() + next()) / 3) * 15 - site.offset;
  const start = Math.floor(NOW / DAY) * DAY - int(0, days) * DAY + Math.floor(hour * HOUR);
  return start < NOW ? start : start - DAY;
}

function slotsFor({ site, language, script, person }, operator, about) {
  const owned = Object.fromEntries(Object.entries(gear).map(([slot, products]) => [slot, pick(products)]));
  const near = (days) => day(about + days * DAY, language.date);
  return {
    ...owned,
    product: pick(Object.values(owned)),
    bag: pick(['Nightjar 2', 'Nightjar Light']),
    order: `LO-${int(20_400, 98_700)}`,
    ticket: `CS-${int(3000, 9999)}`,
    topic: script.topic,
    name: language.language === 'ja' ? person.last : person.first,
    agent: operator.name.split(' ')[0],
    size: String(site.key === 'us' ? int(7, 12) : int(37, 46)),
    city: pick(language.cities),
    date: near(topics[script.topic].past ? -int(8, 14) : int(2, 12)),
    soon: near(int(3, 9)),
    amount: fill(language.amount[site.currency], { whole: int(24, 480), cents: pick(['00', '50', '90', '95']) }),
  };
}

/** The turns that the conversation reaches. An open conversation stops early. A missed conversation has no answer. */
function reached({ script, status }, withBot) {
  const all = script.turns.map((turn) => [withBot || turn[0] !== 'b' ? turn[0] : 'a', turn.slice(3)]);
  const firstAgent = all.findIndex(([speaker]) => speaker === 'a');
  const beforeAgent = firstAgent < 0 ? all : all.slice(0, firstAgent);
  if (status === 'spam') return all;
  if (status === 'missed') return chance(0.5) ? all.slice(0, 1) : beforeAgent;
  if (status === 'unassigned') return beforeAgent;
  const answered = all.slice(0, Math.max(firstAgent + 1, 2));
  if (status === 'pending' || status === 'snoozed') return answered;
  if (status === 'assigned') return chance(0.5) ? answered : all;
  return withBot && firstAgent > 2 && chance(0.3) ? beforeAgent : all;
}

/** The messages of a conversation. `wait` is the time in milliseconds since the previous message. */
function say(talk) {
  const { language, site, platform, person, status, operator, script, slots, visitor } = talk;
  const feature = answeringFeature(site, platform);
  const withBot = feature !== undefined && chance(platform === 'chat' ? 0.8 : 0.55);
  const turns = reached(talk, withBot);
  const said = [];
  if (platform === 'chat' && status !== 'spam' && chance(0.15)) {
    const values = [`${person.first} ${person.last}`, person.email, fill(script.subject, slots)];
    const text = values.map((value, i) => `${language.form[i]}: ${value}`).join('\n');
    said.push({ ...spoken(talk, 'visitor', visitor), kind: 'form', text, wait: 0 });
  }
  turns.forEach(([speaker, template], i) => {
    const text = fill(template, slots);
    if (speaker === 'v') {
      said.push(fromVisitor(talk, i === 0 && status !== 'spam' ? greeted(language, text) : text));
      if (i === 0 && withBot && chance(0.1)) {
        const summary = { author_type: 'bot', author: BOT.id, visibility: 'internal', kind: 'text', wait: 2 * SECOND };
        said.push({ ...summary, text: fill(site.summary, slots), ai_feature: `${site.key}-ai-chat_summary` });
      }
    } else if (speaker === 'b') {
      said.push({ ...fromUs(talk, text, 'b', BOT), ai_feature: feature });
    } else {
      const first = !said.some(({ author_type }) => author_type === 'operator');
      if (first && chance(0.35)) said.push(event(fill(site.assigned, { agent: operator.name }), 15 * SECOND));
      const ai_feature = site.key === 'us' ? some(0.12, true) && `us-ai-${pick(['copilot', 'rephrase'])}` : undefined;
      const files = script.topic === 'Invoice' && i === turns.length - 1 ? [invoice(slots.order)] : [];
      said.push({ ...fromUs(talk, text, 'a', operator), ai_feature, files });
      if (chance(0.14)) said.push(internalNote(talk));
    }
  });
  if (status === 'snoozed') said.push(internalNote(talk));
  if (status === 'closed') said.push(...farewell(talk, said));
  return attach(talk, said);
}

const spoken = ({ language }, author_type, author) => ({
  ...{ author_type, author, visibility: 'public', language: language.language },
});

function fromVisitor(talk, text) {
  const base = spoken(talk, 'visitor', talk.visitor);
  const form = { voice: 'voice_transcript', email: 'html' }[talk.platform];
  const kind = form === 'html' && !chance(0.5) ? 'text' : (form ?? 'text');
  return { ...base, kind, text: kind === 'html' ? html(text, talk.person.first) : text, wait: pause(talk, 'v') };
}

function fromUs(talk, text, who, { id, name }) {
  const base = { ...spoken(talk, who === 'b' ? 'bot' : 'operator', id), wait: pause(talk, who) };
  if (talk.platform !== 'email')
    return { ...base, kind: talk.platform === 'voice' ? 'voice_transcript' : 'text', text };
  const signature = `${name}<br><a href="https://larkspur.example/">Larkspur Outfitters</a>`;
  return { ...base, kind: 'html', text: html(text, signature) };
}

function html(text, signature) {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `<p>${escaped}</p><p>${signature}</p>`;
}

const event = (text, wait) => ({ author_type: 'system', visibility: 'public', kind: 'event', text, wait });

const internalNote = ({ site, operator, slots }) => ({
  ...{ author_type: 'operator', author: operator.id, visibility: 'internal', kind: 'text', language: site.language },
  text: fill(pick(site.internal), slots),
  wait: int(20, 240) * SECOND,
});

function greeted({ greetings, gap, language }, text) {
  const greeting = pick(greetings);
  const first = greeting.endsWith(',') ? text.charAt(0) : text.charAt(0).toLocaleUpperCase(language);
  return `${greeting}${gap}${first}${text.slice(1)}`;
}

function farewell(talk, said) {
  const { language, slots, site } = talk;
  const last = [];
  if (chance(0.65)) {
    last.push(fromVisitor(talk, pick(language.thanks)));
    if (chance(0.6) && said.some(({ author_type }) => author_type === 'operator'))
      last.push(fromUs(talk, fill(pick(language.goodbyes), slots), 'a', talk.operator));
  }
  if (chance(0.3)) last.push(event(site.closed, 3 * SECOND));
  return last;
}

/** Milliseconds before a message of a visitor (v), a bot (b) or an agent (a). */
function pause({ platform }, who) {
  if (platform === 'voice') return int(4, 25) * SECOND;
  if (who === 'b') return int(2, 9) * SECOND;
  if (platform === 'email') return int(9, who === 'a' ? 420 : 700) * MINUTE + int(0, 59) * SECOND;
  if (platform === 'whatsapp') return int(30, 2400) * SECOND;
  return int(12, who === 'a' ? 420 : 160) * SECOND;
}

function attach({ platform, script: { topic }, slots: { order, city, date } }, said) {
  let turn = 0;
  return said.flatMap((one) => {
    if (one.author_type !== 'visitor' || one.kind === 'form') return [one];
    turn += 1;
    if (turn === 1 && platform === 'voice' && chance(0.4)) return [{ ...one, files: [voicemail()] }];
    if (turn === 2 && topic === 'Warranty') {
      const files = [photo('damage.png', int(0, 255))];
      if (chance(0.3)) files.push(photo('label.png', int(0, 255)));
      if (platform === 'email' || chance(0.5)) return [{ ...one, files }];
      return [one, { ...one, text: undefined, kind: 'attachment_only', files, wait: 8 * SECOND }];
    }
    if (turn === 3 && topic === 'Invoice')
      return [{ ...one, files: [pdf('company-details.pdf', ['Billing address', `Order ${order}`])] }];
    if (turn === 2 && topic === 'Delivery' && chance(0.25)) {
      const text = `Order ${order}\nLast scan: ${city}\nExpected: ${written(date)}\n`;
      return [{ ...one, files: [attachment('tracking.txt', 'text/plain; charset=utf-8', Buffer.from(text))] }];
    }
    return [turn > 1 && chance(0.02) ? { ...one, text: undefined, redacted: true } : one];
  });
}

/**
 * A long file. On the website `eu`, an internal message holds the file. On the website `us`, the visitor sends the file
 * and then a message that is longer than the API shows.
 */
function withLog({ site, visitor }) {
  const bytes = track();
  const silent = {
    kind: 'attachment_only',
    files: [attachment('gps-track.csv', 'text/csv', bytes)],
    wait: 30 * SECOND,
  };
  if (site.key === 'eu') return [{ ...silent, author_type: 'system', visibility: 'internal' }];
  const base = { author_type: 'visitor', author: visitor, visibility: 'public' };
  const text = `${bytes.toString('latin1', 0, 36_000)}\n`;
  return [
    { ...silent, ...base },
    { ...base, kind: 'text', text, wait: 20 * SECOND },
  ];
}

function write(talk, id) {
  const { said, start, platform, ended } = talk;
  let at = start;
  let lastVisitor;
  let firstResponse;
  const messages = said.map(({ wait, files = [], ...content }, i) => {
    if (i > 0) at += wait;
    const external_id = `${id}-${i + 1}`;
    const { author_type, visibility, ai_feature } = content;
    const replies = author_type === 'operator' && visibility === 'public';
    if (replies || (author_type === 'bot' && visibility === 'public')) firstResponse ??= at;
    const in_reply_to = replies && chance(platform === 'email' ? 0.9 : 0.1) ? lastVisitor : undefined;
    const edited = replies && chance(0.04) ? Math.min(NOW, at + int(20, 240) * SECOND) : undefined;
    if (author_type === 'visitor') lastVisitor = external_id;
    const message = {
      ...{ type: 'message', external_id, conversation: id, ...content, in_reply_to },
      delivery_status: delivery(content, said[i + 1]),
      ai_generated: ai_feature === undefined ? undefined : true,
      ...{ created_at: iso(at), edited_at: iso(edited) },
    };
    const sent = files.map((file, n) => {
      const external_id = `${message.external_id}-f${n + 1}`;
      return { type: 'file', external_id, message: message.external_id, ...file, created_at: iso(at) };
    });
    return { at, message, files: sent };
  });
  const closed = ended ? Math.min(NOW, at + int(1, 90) * MINUTE) : undefined;
  const conversation = conversationRecord(talk, { id, closed, firstResponse, last: at });
  return { conversation, messages, results: aiResult(talk, id), last: closed ?? at };
}

function delivery({ author_type, visibility }, next) {
  if (author_type === 'system' || visibility === 'internal') return undefined;
  if (next?.visibility === 'public') return 'read';
  if (author_type === 'visitor') return pick(['delivered', 'read']);
  return pick(['sent', 'sent', 'delivered', 'delivered', 'delivered', 'read', 'read', 'read', 'failed']);
}

function conversationRecord(talk, { id, closed, firstResponse, last }) {
  const { site, person, platform, status, script, visitor, said, operator, slots, language, start } = talk;
  const { returns, disposition } = topics[script.topic];
  const human = said.some(({ author_type }) => author_type === 'operator');
  const served = status !== 'unassigned' && status !== 'missed' && status !== 'spam';
  const written = fill(script.subject, slots);
  const subject = platform === 'email' || chance(0.45) ? written : undefined;
  const dispositions = { spam: 'spam', missed: 'follow-up', closed: human ? disposition : 'resolved-by-ai' };
  return {
    ...{ type: 'conversation', external_id: id, website: site.website, visitor },
    contacts: visitor === undefined || chance(0.12) ? [] : person.contacts,
    channel: platform === 'api' ? undefined : `${site.key}-${platform}`,
    team: served || chance(0.4) ? `${site.key}-${returns ? 'returns' : 'care'}` : undefined,
    subsite: chance(0.28) ? pick(site.subsites) : undefined,
    operator: served && (human || closed === undefined) ? operator.id : undefined,
    ...{ status, platform },
    language: some(0.96, language.language),
    subject: id === 'cnv-0200' ? `Fwd: ${'Re: '.repeat(130)}${written}` : subject,
    disposition: closed === undefined ? undefined : some(0.85, dispositions[status]),
    rating: status === 'closed' && chance(0.42) ? pick(ratings) : undefined,
    created_at: iso(start),
    updated_at: iso(closed ?? last),
    first_response_at: iso(firstResponse),
    closed_at: iso(closed),
  };
}

function aiResult({ status, script: { topic }, said }, id) {
  const ai = said.some(({ ai_feature }) => ai_feature !== undefined);
  if (status === 'spam' || !chance(ai ? 0.8 : 0.06)) return [];
  const handedOver = said.some(({ author_type }) => author_type === 'operator');
  const resolved = status === 'closed';
  const mood = topics[topic].mood + (resolved ? 0.35 : -0.1) + (next() - 0.5) * 0.6;
  return [
    {
      ...{ type: 'ai_result', external_id: `${id}-ai`, conversation: id },
      topics: topic !== 'Delivery' && chance(0.15) ? [topic, 'Delivery'] : [topic],
      sentiment: some(0.92, Number(Math.max(-1, Math.min(1, mood)).toFixed(2))),
      confidence: chance(0.95) ? Number((0.55 + next() * 0.44).toFixed(2)) : undefined,
      resolution: resolved ? 'resolved' : handedOver ? 'escalated' : 'unresolved',
      first_contact_resolved: some(0.9, resolved && !handedOver),
      outcome: handedOver ? 'handed_over' : resolved ? 'answered' : 'abandoned',
    },
  ];
}

function answeringFeature({ key }, platform) {
  if (platform === 'api' || (platform === 'voice' && key === 'eu')) return undefined;
  return `${key}-ai-${platform === 'email' || platform === 'voice' ? `${platform}_` : ''}autopilot`;
}

function contactRecord(person, external_id, count, seen) {
  const [country, time_zone] = pick(person.places);
  const created = seen - int(0, 300) * DAY - int(1, 600) * MINUTE;
  const named = !chance(0.06);
  const { language, first, last } = person;
  return {
    ...{ type: 'contact', external_id, website: person.site.website },
    ...(named && {
      name: language === 'ja' ? `${last} ${first}` : `${first} ${last}`,
      first_name: first,
      last_name: last,
    }),
    email: some(0.93, person.email),
    mobile: some(0.6, number(phones.mobile, country)),
    phone: some(0.35, number(phones.phone, country)),
    company: some(0.2, languages.find((one) => one.language === language).company),
    language: some(0.9, language === 'pt' && country === 'BR' ? 'pt-BR' : language),
    country: some(0.85, country),
    time_zone: some(0.7, time_zone),
    blocked: count % 37 === 36 ? true : undefined,
    deleted: count % 31 === 30 ? true : undefined,
    created_at: iso(created),
    updated_at: some(0.8, iso(created + Math.floor((NOW - created) * next()))),
  };
}

/** A number from a range that regulators reserve for fiction, as people type it. */
function number({ odd, other, ...ranges }, country) {
  if (chance(odd.share)) return pick(odd.values);
  const forms = ranges[country] ?? other;
  const form = forms.length > 1 ? pick(forms) : forms[0];
  return form.replace(/#+/g, ({ length }) => String(int(0, 10 ** length - 1)).padStart(length, '0'));
}

function contactRecords(people, presence) {
  const owners = new Map();
  for (const person of people) for (const id of person.contacts) if (!owners.has(id)) owners.set(id, person);
  return [...owners].map(([id, person], i) => {
    const seen = presence.get(person.visitor)?.first ?? NOW - int(50, 400) * DAY;
    return contactRecord(person, id, i + 1, seen);
  });
}

function visitorRecord({ visitor, site, contacts, first }, i, presence) {
  const seen = presence.get(visitor);
  const last = seen?.last ?? NOW - int(1, 40) * DAY;
  const created = (seen?.first ?? last) - int(5, 90) * MINUTE - (chance(0.4) ? int(1, 200) * DAY : 0);
  return {
    ...{ type: 'visitor', external_id: visitor, website: site.website },
    nickname: some(0.7, contacts.length > 0 ? first : `Guest ${1000 + i}`),
    blocked: i % 61 === 60 ? true : undefined,
    contacts,
    created_at: iso(created),
    last_seen_at: chance(0.95) ? iso(Math.min(NOW, last + int(1, 90) * MINUTE)) : undefined,
  };
}

function noteRecord(people, i, presence) {
  const { visitor, site } = pick(people);
  const since = presence.get(visitor).first;
  const author = chance(0.08) ? FORMER : pick(site.operators).id;
  return {
    ...{ type: 'note', external_id: `note-${i + 1}`, visitor },
    operator: some(0.9, author),
    title: chance(0.8) ? pick(titles) : undefined,
    text: i === 40 ? protocol() : pick(site.notes),
    created_at: iso(since + Math.floor((NOW - since) * next())),
  };
}

/** This note is too long for one answer of the API. */
const protocol = () =>
  range(
    420,
    (i) => `Call ${i + 1}: asked about the group order, answered with the current delivery week, nothing else open.`,
  ).join('\n');

const attachment = (name, media_type, bytes, more = {}) => ({
  ...{ name, media_type, disposition: 'attachment', ...more, content_base64: bytes.toString('base64') },
});

/** A GPS track of about 150 KiB, so that the file API serves the track in three chunks. */
function track() {
  const points = range(3840, (i) => {
    const latitude = (45 + i * 0.000_021).toFixed(6);
    const longitude = (7 + Math.abs((i % 900) - 450) * 0.000_013).toFixed(6);
    return `${String(i).padStart(5, '0')};${latitude};${longitude};${1400 + Math.abs((i % 700) - 350)};signal ok`;
  });
  return Buffer.from(`point;latitude;longitude;metres;receiver\n${points.join('\n')}\n`);
}

function voicemail() {
  // 8,000 samples of one byte, 8,000 a second, on one channel.
  const header = 'RIFF\x64\x1f\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\x40\x1f\0\0';
  const samples = range(8000, (i) => 118 + Math.abs((i % 20) - 10));
  const bytes = Buffer.concat([Buffer.from(header, 'latin1'), Buffer.from(samples)]);
  return attachment('call.wav', 'audio/wav', bytes, { duration_ms: 1000 });
}

function photo(name, hue) {
  const [width, height] = [64, 48];
  const rows = range(height, (y) => {
    const pixels = range(width, (x) => {
      const ridge = 20 + Math.abs(((x + hue) % 32) - 16);
      if (y < ridge) return [150 + (hue % 60), 190, 225];
      return y < ridge + 9 ? [90, 120 + (hue % 50), 85] : [70, 80, 60];
    });
    return Buffer.from([0, ...pixels.flat()]);
  });
  const chunk = (type, data) => {
    const chunk = Buffer.concat([Buffer.alloc(4), Buffer.from(type, 'latin1'), data, Buffer.alloc(4)]);
    chunk.writeUInt32BE(data.length);
    chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), data.length + 8);
    return chunk;
  };
  const bytes = Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', Buffer.from([0, 0, 0, width, 0, 0, 0, height, 8, 2, 0, 0, 0])),
    // With compression level 0, zlib only copies the data. So every version of zlib writes the same bytes.
    chunk('IDAT', deflateSync(Buffer.concat(rows), { level: 0 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
  return attachment(name, 'image/png', bytes, { disposition: 'inline', width, height });
}

const invoice = (order) =>
  pdf(`invoice-${order}.pdf`, ['Larkspur Outfitters', `Invoice for order ${order}`, 'Thank you (and happy trails).']);

/** A PDF of one A4 page with lines in Helvetica. The lines must be ASCII. */
function pdf(name, lines) {
  const escaped = lines.map((line) => `(${line.replaceAll(/[\\()]/g, '\\$&')}) Tj T*`);
  const content = `BT /F1 12 Tf 72 770 Td 18 TL\n${escaped.join('\n')}\nET\n`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>',
    `<< /Length ${content.length} >>\nstream\n${content}endstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let body = '%PDF-1.4\n';
  // Each entry of the PDF cross-reference table must have exactly 20 bytes.
  let table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`;
  objects.forEach((object, i) => {
    table += `${String(body.length).padStart(10, '0')} 00000 n \n`;
    body += `${i + 1} 0 obj\n${object}\nendobj\n`;
  });
  const trailer = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF\n`;
  return attachment(name, 'application/pdf', Buffer.from(body + table + trailer, 'latin1'));
}

function read(name) {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}

const { people, silent } = populate();
const { records, presence } = conversations(plan(people));
const contacts = contactRecords([...people, ...silent], presence);
const visitors = people.map((person, i) => visitorRecord(person, i, presence));
const seen = people.filter(({ visitor }) => presence.has(visitor));
const notes = range(72, (i) => noteRecord(seen, i, presence));
const text = [...contacts, ...visitors, ...records, ...notes].map((record) => `${JSON.stringify(record)}\n`).join('');

if (!process.argv.includes('--check')) writeFileSync(new URL('conversations.ndjson', import.meta.url), text);
else if (read('conversations.ndjson') !== text) {
  console.error('conversations.ndjson is not what the script gives. Run `node resources/demo/generate.mjs`.');
  process.exitCode = 1;
}
