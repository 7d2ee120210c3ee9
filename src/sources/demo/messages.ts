import { fill, type Turn } from './dialogues/script.ts';
import { answeringFeature, featureId } from './features.ts';
import { type DemoFile, onePagePdf, photo, textFile, voicemail } from './files.ts';
import { internal, summary } from './notes.ts';
import { bot, type Operator } from './organization.ts';
import type { Plan } from './plan.ts';
import type { Random } from './random.ts';

export interface Said {
  readonly by: 'visitor' | 'operator' | 'bot' | 'system';
  readonly author?: string | undefined;
  readonly visibility: 'public' | 'internal';
  readonly kind: 'text' | 'html' | 'event' | 'form' | 'voice_transcript' | 'attachment_only';
  readonly text?: string;
  readonly language?: string | undefined;
  readonly feature?: string | undefined;
  readonly redacted?: boolean;
  readonly files?: readonly DemoFile[];
  /** Milliseconds between the previous message and this message. */
  readonly wait: number;
}

export type Slots = Readonly<Record<string, string>>;

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/**
 * Returns the turns of the script that this conversation contains. An open conversation stops early. A missed
 * conversation has no answer.
 */
export function reached(random: Random, plan: Plan, withBot: boolean): readonly Turn[] {
  const all: readonly Turn[] = withBot
    ? plan.script.turns
    : plan.script.turns.map((turn) => (turn.speaker === 'bot' ? { ...turn, speaker: 'agent' } : turn));
  const firstAgent = all.findIndex(({ speaker }) => speaker === 'agent');
  const beforeAgent = firstAgent < 0 ? all : all.slice(0, firstAgent);
  if (plan.status === 'spam') return all;
  if (plan.status === 'missed') return random.chance(0.5) ? all.slice(0, 1) : beforeAgent;
  if (plan.status === 'unassigned') return beforeAgent;
  const answered = all.slice(0, Math.max(firstAgent + 1, 2));
  if (plan.status === 'pending' || plan.status === 'snoozed') return answered;
  if (plan.status === 'assigned') return random.chance(0.5) ? answered : all;
  return withBot && firstAgent > 2 && random.chance(0.3) ? beforeAgent : all;
}

export function say(random: Random, plan: Plan, operator: Operator, slots: Slots): Said[] {
  const { dialogues, site, platform, person, status } = plan;
  const feature = platform === 'api' ? undefined : answeringFeature(site, platform);
  const withBot = feature !== undefined && random.chance(platform === 'chat' ? 0.8 : 0.55);
  const turns = reached(random, plan, withBot);
  const said: Said[] = [];
  const visitor = plan.anonymous ? undefined : person.visitor;
  const base = { visibility: 'public', language: dialogues.language } as const satisfies Partial<Said>;

  if (platform === 'chat' && status !== 'spam' && random.chance(0.15)) {
    const [name, email, request] = dialogues.form;
    const text = `${name}: ${person.first} ${person.last}\n${email}: ${person.email}\n${request}: ${fill(plan.script.subject, slots)}`;
    said.push({ ...base, by: 'visitor', author: visitor, kind: 'form', text, wait: 0 });
  }
  turns.forEach((turn, i) => {
    const text = fill(turn.text, slots);
    if (turn.speaker === 'visitor') {
      const whole = i === 0 && status !== 'spam' ? greeted(random, plan, text) : text;
      said.push({ ...visitorSays(random, plan, whole), author: visitor, wait: pause(random, plan, 'visitor') });
      if (i === 0 && withBot && random.chance(0.1)) said.push(summarise(plan, slots));
      return;
    }
    const kind = operatorKind(plan);
    const spoken = kind === 'html' ? html(text, ours(turn.speaker === 'bot' ? 'Lark' : operator.name)) : text;
    if (turn.speaker === 'bot') {
      said.push({ ...base, by: 'bot', author: bot, kind, text: spoken, feature, wait: pause(random, plan, 'bot') });
      return;
    }
    if (!said.some(({ by }) => by === 'operator') && random.chance(0.35)) said.push(assigned(plan, operator));
    const helped =
      site.key === 'us' && random.chance(0.12) ? featureId(site, random.pick(['copilot', 'rephrase'])) : undefined;
    const files = plan.script.topic === 'Invoice' && i === turns.length - 1 ? [invoice(slots)] : [];
    const wait = pause(random, plan, 'agent');
    said.push({ ...base, by: 'operator', author: operator.id, kind, text: spoken, feature: helped, files, wait });
    if (random.chance(0.14)) said.push(noteOf(random, plan, operator, slots));
  });
  if (status === 'snoozed') said.push(noteOf(random, plan, operator, slots));
  if (status === 'closed') said.push(...farewell(random, plan, operator, slots, said));
  return attach(random, plan, said, slots);
}

function greeted(random: Random, { dialogues }: Plan, text: string): string {
  const greeting = random.pick(dialogues.greetings);
  const first = greeting.endsWith(',') ? text.charAt(0) : text.charAt(0).toLocaleUpperCase(dialogues.language);
  return `${greeting}${dialogues.gap}${first}${text.slice(1)}`;
}

function farewell(random: Random, plan: Plan, operator: Operator, slots: Slots, said: readonly Said[]): Said[] {
  const { dialogues } = plan;
  const ended: Said[] = [];
  if (random.chance(0.65)) {
    const author = plan.anonymous ? undefined : plan.person.visitor;
    const text = random.pick(dialogues.thanks);
    ended.push({ ...visitorSays(random, plan, text), author, wait: pause(random, plan, 'visitor') });
    if (random.chance(0.6) && said.some(({ by }) => by === 'operator')) {
      const kind = operatorKind(plan);
      const bye = fill(random.pick(dialogues.goodbyes), slots);
      const text = kind === 'html' ? html(bye, ours(operator.name)) : bye;
      const wait = pause(random, plan, 'agent');
      const language = dialogues.language;
      ended.push({ by: 'operator', author: operator.id, visibility: 'public', kind, text, language, wait });
    }
  }
  if (random.chance(0.3)) {
    const text = plan.site.key === 'us' ? 'Conversation closed' : 'Unterhaltung geschlossen';
    ended.push({ by: 'system', visibility: 'public', kind: 'event', text, wait: 3 * SECOND });
  }
  return ended;
}

function visitorSays(random: Random, plan: Plan, text: string): Omit<Said, 'wait'> {
  const common = {
    by: 'visitor',
    visibility: 'public',
    language: plan.dialogues.language,
  } as const satisfies Partial<Said>;
  if (plan.platform === 'voice') return { ...common, kind: 'voice_transcript', text };
  if (plan.platform === 'email' && random.chance(0.5))
    return { ...common, kind: 'html', text: html(text, plan.person.first) };
  return { ...common, kind: 'text', text };
}

function attach(random: Random, plan: Plan, said: readonly Said[], slots: Slots): Said[] {
  const { topic } = plan.script;
  let spoken = 0;
  return said.flatMap((one): Said[] => {
    if (one.by !== 'visitor' || one.kind === 'form') return [one];
    spoken += 1;
    if (spoken === 1 && plan.platform === 'voice' && random.chance(0.4))
      return [{ ...one, files: [voicemail('call.wav')] }];
    if (spoken === 2 && topic === 'Warranty') {
      const files = [
        photo('damage.png', random.int(0, 255)),
        ...(random.chance(0.3) ? [photo('label.png', random.int(0, 255))] : []),
      ];
      if (plan.platform === 'email' || random.chance(0.5)) return [{ ...one, files }];
      const { text: _, ...rest } = one;
      return [one, { ...rest, kind: 'attachment_only', files, wait: 8 * SECOND }];
    }
    if (spoken === 3 && topic === 'Invoice') {
      return [
        { ...one, files: [onePagePdf('company-details.pdf', ['Billing address', `Order ${slots.order ?? ''}`])] },
      ];
    }
    if (spoken === 2 && topic === 'Delivery' && random.chance(0.25)) {
      const lines = `Order ${slots.order ?? ''}\nLast scan: ${slots.city ?? ''}\nExpected: ${slots.date ?? ''}\n`;
      return [{ ...one, files: [textFile('tracking.txt', lines)] }];
    }
    if (spoken > 1 && random.chance(0.02)) {
      const { text: _, ...rest } = one;
      return [{ ...rest, redacted: true }];
    }
    return [one];
  });
}

const invoice = (slots: Slots): DemoFile =>
  onePagePdf(`invoice-${slots.order ?? ''}.pdf`, [
    'Larkspur Outfitters',
    `Invoice for order ${slots.order ?? ''}`,
    'Thank you (and happy trails).',
  ]);

function noteOf(random: Random, plan: Plan, operator: Operator, slots: Slots): Said {
  const { key } = plan.site;
  const text = fill(random.pick(internal[key]), slots);
  const language = key === 'us' ? 'en' : 'de';
  return {
    by: 'operator',
    author: operator.id,
    visibility: 'internal',
    kind: 'text',
    text,
    language,
    wait: random.int(20, 240) * SECOND,
  };
}

function summarise(plan: Plan, slots: Slots): Said {
  const text = fill(summary[plan.site.key], { ...slots, topic: plan.script.topic });
  const feature = featureId(plan.site, 'chat_summary');
  return { by: 'bot', author: bot, visibility: 'internal', kind: 'text', text, feature, wait: 2 * SECOND };
}

function assigned(plan: Plan, operator: Operator): Said {
  const text = plan.site.key === 'us' ? `Assigned to ${operator.name}` : `Zugewiesen an ${operator.name}`;
  return { by: 'system', visibility: 'public', kind: 'event', text, wait: 15 * SECOND };
}

const operatorKind = ({ platform }: Plan): 'html' | 'voice_transcript' | 'text' =>
  platform === 'email' ? 'html' : platform === 'voice' ? 'voice_transcript' : 'text';

function html(text: string, signature: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return `<p>${escaped}</p><p>${signature}</p>`;
}

const ours = (name: string): string => `${name}<br><a href="https://larkspur.example/">Larkspur Outfitters</a>`;

function pause(random: Random, { platform }: Plan, who: 'visitor' | 'bot' | 'agent'): number {
  if (platform === 'voice') return random.int(4, 25) * SECOND;
  if (who === 'bot') return random.int(2, 9) * SECOND;
  if (platform === 'email') return random.int(9, who === 'agent' ? 420 : 700) * MINUTE + random.int(0, 59) * SECOND;
  if (platform === 'whatsapp') return random.int(30, 2400) * SECOND;
  return random.int(12, who === 'agent' ? 420 : 160) * SECOND;
}
