import type { ImportRecordInput } from '../engine/records.ts';
import { dispositionFor } from './catalogue.ts';
import { fill, type Topic } from './dialogues/script.ts';
import { type DemoFile, trackLog } from './files.ts';
import { type Said, type Slots, say } from './messages.ts';
import { careTeam, channelOf, type Operator, returnsTeam } from './organization.ts';
import type { Presence } from './people.ts';
import type { Plan } from './plan.ts';
import type { Random } from './random.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** At most this many conversations look active when the demo is loaded. */
const RECENT = 12;

interface Placed {
  readonly plan: Plan;
  readonly operator: Operator;
  readonly slots: Slots;
  readonly said: readonly Said[];
  readonly start: number;
}

interface Conversations {
  readonly records: ImportRecordInput[];
  readonly presence: Presence;
}

export function conversations(random: Random, plans: readonly Plan[], now: number): Conversations {
  let recent = 0;
  let logs = 0;
  const placed = plans.map((plan): Placed => {
    const operator = operatorFor(random, plan);
    const open = plan.status !== 'closed' && plan.status !== 'missed' && plan.status !== 'spam';
    const duringLastHours = open && plan.platform !== 'email' && recent < RECENT && random.chance(0.3);
    if (duringLastHours) recent += 1;
    const about = duringLastHours ? now : daytime(random, plan, now, open ? 16 : 43);
    const slots = slotsFor(random, plan, operator, about);
    let said = say(random, plan, operator, slots);
    if (
      logs < 2 &&
      plan.status === 'closed' &&
      plan.script.topic === 'Warranty' &&
      (logs === 0) === (plan.site.key === 'us')
    ) {
      logs += 1;
      said = withLog(said, plan);
    }
    const length = said.reduce((sum, { wait }) => sum + wait, 0);
    const latest = now - length - (duringLastHours ? random.int(2, 150) : random.int(180, 400)) * MINUTE;
    const start = duringLastHours ? latest : Math.min(latest, about);
    return { plan, operator, slots, said, start: Math.max(start, now - 45 * DAY + HOUR) };
  });
  placed.sort((a, b) => a.start - b.start);
  const parts = placed.map((one, i) => write(random, one, `cnv-${String(i + 1).padStart(4, '0')}`, now));
  const presence = new Map<string, { first: number; last: number }>();
  parts.forEach(({ last }, i) => {
    const { plan, start } = placed[i] ?? {};
    if (plan === undefined || start === undefined || plan.anonymous) return;
    const seen = presence.get(plan.person.visitor);
    presence.set(plan.person.visitor, { first: seen?.first ?? start, last: Math.max(seen?.last ?? 0, last) });
  });
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

function write(random: Random, { plan, operator, slots, said, start }: Placed, id: string, now: number) {
  let at = start;
  let lastVisitor: string | undefined;
  let firstResponse: number | undefined;
  const messages = said.map((one, i) => {
    if (i > 0) at += one.wait;
    const external_id = `${id}-${i + 1}`;
    const replies = one.by === 'operator' && one.visibility === 'public';
    if (one.visibility === 'public' && (replies || one.by === 'bot')) firstResponse ??= at;
    const linked = replies && random.chance(plan.platform === 'email' ? 0.9 : 0.1) ? lastVisitor : undefined;
    const edited = replies && random.chance(0.04) ? Math.min(now, at + random.int(20, 240) * 1000) : undefined;
    if (one.by === 'visitor') lastVisitor = external_id;
    const message: ImportRecordInput = {
      type: 'message',
      external_id,
      conversation: id,
      author_type: one.by,
      author: one.author,
      visibility: one.visibility,
      kind: one.kind,
      text: one.text,
      language: one.language,
      created_at: iso(at),
      edited_at: edited === undefined ? undefined : iso(edited),
      delivery_status: delivery(random, one, said[i + 1]),
      in_reply_to: linked,
      ai_generated: one.feature !== undefined,
      ai_feature: one.feature,
      redacted: one.redacted,
    };
    const files = (one.files ?? []).map((file, n) => fileRecord(file, external_id, n, at));
    return { at, message, files };
  });
  const ended = plan.status === 'closed' || plan.status === 'missed' || plan.status === 'spam';
  const closed = ended ? Math.min(now, at + random.int(1, 90) * MINUTE) : undefined;
  const conversation = conversationRecord(random, {
    plan,
    operator,
    human: said.some(({ by }) => by === 'operator'),
    slots,
    id,
    start,
    closed,
    firstResponse,
    last: at,
  });
  return { conversation, messages, results: aiResult(random, plan, said, id), last: closed ?? at };
}

interface Facts {
  readonly plan: Plan;
  readonly operator: Operator;
  readonly human: boolean;
  readonly slots: Slots;
  readonly id: string;
  readonly start: number;
  readonly last: number;
  readonly closed: number | undefined;
  readonly firstResponse: number | undefined;
}

function conversationRecord(random: Random, facts: Facts): ImportRecordInput {
  const { plan, operator, human, slots, id, start, closed, firstResponse, last } = facts;
  const { site, person, platform, status, script } = plan;
  const served = status !== 'unassigned' && status !== 'missed' && status !== 'spam';
  const subject = platform === 'email' || random.chance(0.45) ? fill(script.subject, slots) : undefined;
  const disposition = {
    closed: human ? dispositionFor(script.topic) : 'resolved-by-ai',
    spam: 'spam',
    missed: 'follow-up',
  } as const;
  return {
    type: 'conversation',
    external_id: id,
    website: site.website,
    visitor: plan.anonymous ? undefined : person.visitor,
    contacts: plan.anonymous || random.chance(0.12) ? [] : [...person.contacts],
    channel: platform === 'api' ? undefined : channelOf(site, platform),
    team: served || random.chance(0.4) ? teamFor(plan) : undefined,
    subsite: random.chance(0.28) ? random.pick(site.subsites) : undefined,
    operator: served && (human || closed === undefined) ? operator.id : undefined,
    status,
    platform,
    language: random.chance(0.96) ? plan.dialogues.language : undefined,
    subject: id === 'cnv-0200' ? `Fwd: ${'Re: '.repeat(130)}${fill(script.subject, slots)}` : subject,
    disposition: closed !== undefined && random.chance(0.85) ? disposition[endOf(status)] : undefined,
    rating: status === 'closed' && random.chance(0.42) ? random.pick(ratings) : undefined,
    created_at: iso(start),
    updated_at: iso(closed ?? last),
    first_response_at: firstResponse === undefined ? undefined : iso(firstResponse),
    closed_at: closed === undefined ? undefined : iso(closed),
  };
}

const endOf = (status: Plan['status']): 'closed' | 'spam' | 'missed' =>
  status === 'spam' || status === 'missed' ? status : 'closed';

const ratings = [
  ...Array.from({ length: 5 }, () => ({ label: 'great', score: 5 })),
  ...Array.from({ length: 4 }, () => ({ label: 'good', score: 4 })),
  { label: 'fair', score: 3 },
  { label: 'poor', score: 2 },
  { label: 'bad', score: 1 },
  { label: 'thumbs up' },
];

const moods: Partial<Record<Topic, number>> = {
  Delivery: -0.35,
  Refund: -0.4,
  Payment: -0.45,
  Warranty: -0.2,
  Stock: 0.2,
};

function aiResult(random: Random, plan: Plan, said: readonly Said[], id: string): ImportRecordInput[] {
  const ai = said.some(({ feature }) => feature !== undefined);
  if (plan.status === 'spam' || !random.chance(ai ? 0.8 : 0.06)) return [];
  const handedOver = said.some(({ by }) => by === 'operator');
  const resolved = plan.status === 'closed';
  const mood = (moods[plan.script.topic] ?? 0.3) + (resolved ? 0.35 : -0.1) + (random.next() - 0.5) * 0.6;
  const { topic } = plan.script;
  return [
    {
      type: 'ai_result',
      external_id: `${id}-ai`,
      conversation: id,
      topics: topic !== 'Delivery' && random.chance(0.15) ? [topic, 'Delivery'] : [topic],
      sentiment: random.chance(0.92) ? Number(Math.max(-1, Math.min(1, mood)).toFixed(2)) : undefined,
      confidence: random.chance(0.95) ? Number((0.55 + random.next() * 0.44).toFixed(2)) : undefined,
      resolution: resolved ? 'resolved' : handedOver ? 'escalated' : 'unresolved',
      first_contact_resolved: random.chance(0.9) ? resolved && !handedOver : undefined,
      outcome: handedOver ? 'handed_over' : resolved ? 'answered' : 'abandoned',
    },
  ];
}

function fileRecord(file: DemoFile, message: string, n: number, at: number): ImportRecordInput {
  const { bytes, ...rest } = file;
  const external_id = `${message}-f${n + 1}`;
  return { type: 'file', external_id, message, ...rest, content_base64: bytes.toString('base64'), created_at: iso(at) };
}

/**
 * Adds a long file to a conversation. On the website `eu`, an internal message holds the file. On the website `us`, the
 * visitor sends the file and then a message that is longer than the API shows.
 */
function withLog(said: readonly Said[], plan: Plan): Said[] {
  const log = trackLog('gps-track.csv');
  const silent = { kind: 'attachment_only', files: [log], wait: 30_000 } as const;
  if (plan.site.key === 'eu') return [...said, { ...silent, by: 'system', visibility: 'internal' }];
  const base = { by: 'visitor', author: plan.person.visitor, visibility: 'public' } as const;
  const text = `${log.bytes.toString('latin1', 0, 36_000)}\n`;
  return [...said, { ...base, ...silent }, { ...base, kind: 'text', text, wait: 20_000 }];
}

function slotsFor(random: Random, plan: Plan, operator: Operator, about: number): Slots {
  const { dialogues, site, person } = plan;
  const day = (offset: number): string => {
    const date = new Date(about + offset * DAY);
    return dialogues.date(date.getUTCDate(), date.getUTCMonth() + 1);
  };
  const past = ['Delivery', 'Refund', 'Payment'].includes(plan.script.topic);
  const pack = random.pick(['Heron 45', 'Heron 60', 'Kestrel Lite', 'Merlin Duffel 70']);
  const tent = random.pick(['Solstice 2', 'Solstice 3', 'Campanula Ultralight']);
  const jacket = random.pick(['Tern Shell', 'Sora Down', 'Dunlin Fleece']);
  const shoe = random.pick(['Fjell Mid', 'Skree Low', 'Bracken Trail']);
  return {
    ...{ pack, tent, jacket, shoe, product: random.pick([pack, tent, jacket, shoe]) },
    bag: random.pick(['Nightjar 2', 'Nightjar Light']),
    order: `LO-${random.int(20_400, 98_700)}`,
    ticket: `CS-${random.int(3000, 9999)}`,
    name: dialogues.language === 'ja' ? person.last : person.first,
    agent: operator.name.split(' ')[0] ?? operator.name,
    size: site.key === 'us' ? String(random.int(7, 12)) : String(random.int(37, 46)),
    city: random.pick(dialogues.cities),
    date: day(past ? -random.int(8, 14) : random.int(2, 12)),
    soon: day(random.int(3, 9)),
    amount: dialogues.amount(random.int(24, 480), random.pick(['00', '50', '90', '95']), site.currency),
  };
}

function operatorFor(random: Random, { site, dialogues }: Plan): Operator {
  const able = site.operators.filter(({ languages }) => languages.includes(dialogues.language));
  return random.pick(able.length > 0 ? able : site.operators);
}

function teamFor({ site, script }: Plan): string {
  const returns = script.topic === 'Refund' || script.topic === 'Exchange' || script.topic === 'Warranty';
  return returns ? returnsTeam(site) : careTeam(site);
}

function daytime(random: Random, { site }: Plan, now: number, days: number): number {
  const hour = 7 + ((random.next() + random.next() + random.next()) / 3) * 15 - site.offset;
  const midnight = Math.floor(now / DAY) * DAY;
  const start = midnight - random.int(0, days) * DAY + Math.floor(hour * HOUR);
  return start < now ? start : start - DAY;
}

function delivery(
  random: Random,
  said: Said,
  next: Said | undefined,
): 'sent' | 'delivered' | 'read' | 'failed' | undefined {
  if (said.by === 'system' || said.visibility === 'internal') return undefined;
  if (next?.visibility === 'public') return 'read';
  return random.pick(
    said.by === 'visitor'
      ? ['delivered', 'read']
      : ['sent', 'sent', 'delivered', 'delivered', 'delivered', 'read', 'read', 'read', 'failed'],
  );
}

const iso = (time: number): string => new Date(time).toISOString();
