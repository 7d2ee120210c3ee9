/**
 * A script is a short conversation with slots such as {order}. Each demo conversation fills the slots with new values.
 */

export type Topic =
  | 'Delivery'
  | 'Refund'
  | 'Sizing'
  | 'Warranty'
  | 'Invoice'
  | 'Login'
  | 'Exchange'
  | 'Payment'
  | 'Stock'
  | 'Cancellation'
  | 'Product advice'
  | 'Address change';

type Speaker = 'visitor' | 'bot' | 'agent';

export interface Turn {
  readonly speaker: Speaker;
  readonly text: string;
}

export interface Script {
  readonly topic: Topic;
  readonly subject: string;
  readonly turns: readonly Turn[];
}

export interface Dialogues {
  readonly language: string;
  readonly gap: string;
  readonly greetings: readonly string[];
  readonly thanks: readonly string[];
  readonly goodbyes: readonly string[];
  readonly cities: readonly string[];
  /** The labels of a contact form, in this order: name, e-mail, request. */
  readonly form: readonly [string, string, string];
  readonly date: (day: number, month: number) => string;
  readonly amount: (whole: number, cents: string, currency: 'USD' | 'EUR') => string;
  readonly scripts: readonly Script[];
}

const speakers: Readonly<Record<string, Speaker>> = { v: 'visitor', b: 'bot', a: 'agent' };

/**
 * Parses a script. Each line is one turn. The start of the line names the speaker: `v:` visitor, `b:` bot, `a:` agent.
 */
export function script(topic: Topic, subject: string, lines: string): Script {
  const turns = lines.split('\n').flatMap((line): Turn[] => {
    const [, mark = '', text = ''] = /^\s*([vba]): (.+)$/.exec(line) ?? [];
    const speaker = speakers[mark];
    return speaker === undefined ? [] : [{ speaker, text: text.trim() }];
  });
  return { topic, subject, turns };
}

export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, slot: string) => {
    const value = values[slot];
    if (value === undefined) throw new RangeError(`no value for slot ${slot}`);
    return value;
  });
}

export const twoDigits = (value: number): string => String(value).padStart(2, '0');
