/** Computes the expected report from the stored rows without SQL. */
export interface Conversation {
  id: string;
  site: string;
  visitor_id: string | null;
  channel_id: string | null;
  team_id: string | null;
  subsite_id: string | null;
  operator: string | null;
  platform: string;
  language: string | null;
  rating_label: string | null;
  created_at: Date;
  last_message_at: Date | null;
  first_visitor_at: Date | null;
  first_reply_at: Date | null;
  first_operator_reply_at: Date | null;
  message_count: number;
  visitor_messages: number;
  bot_messages: number;
  operator_messages: number;
  response_seconds: number;
  response_count: number;
  ai_involved: boolean;
  ai_customer_facing: boolean;
  ai_escalated: boolean;
}

export interface Result {
  site: string;
  conversation_id: string;
  topics: string[];
  sentiment: number | null;
  confidence: number | null;
  resolution: string | null;
  first_contact_resolved: boolean | null;
  outcome: string | null;
}

export interface Asked {
  conversations: readonly Conversation[];
  results: readonly Result[];
  now: string;
  zone: string;
  timezone: string | undefined;
  range: { range?: string; start?: string; end?: string };
  scopes: readonly string[];
  dataAccess: readonly string[];
  restrictions: { channel_ids?: readonly string[]; team_ids?: readonly string[]; subsite_ids?: readonly string[] };
}

type Pairs = [string, number][];

const formats = new Map<string, Intl.DateTimeFormat>();
function local(moment: Date, timeZone: string): { day: string; hour: string } {
  const known = formats.get(timeZone);
  const format =
    known ?? new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short', timeStyle: 'short', hourCycle: 'h23' });
  if (!known) formats.set(timeZone, format);
  const [day = '', time = ''] = format.format(moment).split(', ');
  return { day, hour: time.slice(0, 2) };
}

const shift = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);

function daysOf({ now, range }: Asked, zone: string): [name: string, first: string, last: string] {
  const today = local(new Date(now), zone).day;
  if (range.start !== undefined && range.end !== undefined) return ['date', range.start, range.end];
  if (range.range === 'today') return ['today', today, today];
  if (range.range !== 'last-month') return ['last-7-days', shift(today, -6), today];
  const last = shift(`${today.slice(0, 7)}-01`, -1);
  return ['last-month', `${last.slice(0, 7)}-01`, last];
}

function tally(labels: readonly (string | null)[]): Pairs {
  const counts = new Map<string, number>();
  for (const label of labels) if (label !== null) counts.set(label, (counts.get(label) ?? 0) + 1);
  return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
/** The mean of whole numbers in units of 1/scale, rounded to 1/(scale × finer). Halves are rounded away from zero. */
function mean(units: readonly number[], scale: number, finer = 1, count = units.length): number | null {
  if (count === 0) return null;
  const value = (sum(units.map(Math.round)) * finer) / count;
  return (Math.sign(value) * Math.round(Math.abs(value))) / (scale * finer) + 0;
}

const between = (rows: readonly Conversation[], from: keyof Conversation, to: keyof Conversation): number[] =>
  rows.flatMap((row) => {
    const [a, b] = [row[from], row[to]];
    return a instanceof Date && b instanceof Date ? [b.getTime() - a.getTime()] : [];
  });

const mood = (value: number): string => (value < -0.25 ? 'negative' : value > 0.25 ? 'positive' : 'neutral');

/** The whole expected answer, except for `meta.withheld` and `meta.website`. */
export function expectedReport(asked: Asked): unknown {
  const zone = asked.timezone ?? asked.zone;
  const [range, start, end] = daysOf(asked, zone);
  const has = (scope: string, flag: string) => asked.scopes.includes(scope) && asked.dataAccess.includes(flag);
  const content = has('message_content_read', 'message_content');
  const pii = has('contact_read_pii', 'pii');
  const directory = pii && asked.scopes.includes('directory_read');
  const { channel_ids, team_ids, subsite_ids } = asked.restrictions;
  const permits = (site: string, ids: readonly string[] | undefined, id: string | null): boolean =>
    !ids || (id !== null && ids.some((allowed) => allowed.endsWith(`_${site}_${id}`)));
  const rows = asked.conversations.filter((c) => {
    const { day } = local(c.created_at, zone);
    const allowed =
      permits(c.site, channel_ids, c.channel_id) &&
      permits(c.site, team_ids, c.team_id) &&
      permits(c.site, subsite_ids, c.subsite_id);
    return c.ai_involved && allowed && day >= start && day <= end;
  });
  const results = asked.results.filter((r) => rows.some((c) => c.id === r.conversation_id));
  const when = rows.map((c) => local(c.created_at, zone));
  const days: string[] = [];
  for (let day = start; day <= end; day = shift(day, 1)) days.push(day);
  const hours = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'));
  const first = between(rows, 'first_visitor_at', 'first_reply_at');
  const speed = between(rows, 'first_visitor_at', 'first_operator_reply_at');
  const classifiedAs = (test: (resolution: string) => boolean): number =>
    new Set(results.filter((r) => r.resolution !== null && test(r.resolution)).map((r) => r.conversation_id)).size;
  const seen = <T>(granted: boolean, value: T): T | null => (granted ? value : null);
  const decided = results.filter((r) => r.first_contact_resolved !== null);
  const known = (member: 'sentiment' | 'confidence') => results.flatMap((r) => r[member] ?? []);
  const hundredths = (member: 'sentiment' | 'confidence') => known(member).map((value) => value * 100);
  return {
    meta: {
      coverage: 'ai_evidenced_conversations',
      range,
      start,
      end,
      time_zone: asked.zone,
      bucket_time_zone: zone,
      generated_at: new Date(asked.now).toISOString(),
      source: 'persisted',
      truncated: false,
      cache_seconds: 0,
      restriction_dimensions: [
        ...(channel_ids ? ['channel'] : []),
        ...(team_ids ? ['team'] : []),
        ...(subsite_ids ? ['subsite'] : []),
      ],
      data_access: { content_derived_measures: content, language_labels: pii, operator_labels: directory },
    },
    headline: {
      ai_conversations: rows.length,
      ai_touched_visitors: new Set(rows.flatMap((c) => c.visitor_id ?? [])).size,
      ai_assisted_conversations: rows.filter((c) => c.operator_messages > 0).length,
      ai_customer_facing_conversations: rows.filter((c) => c.ai_customer_facing).length,
      human_escalations: rows.filter((c) => c.ai_escalated).length,
    },
    summary: {
      series: {
        volume: days.map((day) => [day, when.filter((w) => w.day === day).length]),
        volume_hourly: hours.map((hour) => [hour, when.filter((w) => w.hour === hour).length]),
        platform: tally(rows.map((c) => c.platform)),
        topics: seen(content, tally(results.flatMap((r) => [...new Set(r.topics)]))),
        language: seen(pii, tally(rows.map((c) => c.language))),
        sentiment: seen(content, tally(known('sentiment').map(mood))),
        resolution: seen(content, tally(results.map((r) => r.resolution))),
        operators: seen(directory, tally(rows.map((c) => c.operator))),
      },
      metrics: {
        message_count: sum(rows.map((c) => c.message_count)),
        visitor_message_count: sum(rows.map((c) => c.visitor_messages)),
        bot_message_count: sum(rows.map((c) => c.bot_messages)),
        operator_message_count: sum(rows.map((c) => c.operator_messages)),
        first_response_seconds: mean(first, 1000),
        first_response_count: first.length,
        speed_response_seconds: mean(speed, 1000),
        speed_response_count: speed.length,
        average_response_seconds: mean(
          rows.map((c) => c.response_seconds * 1000),
          1000,
          1,
          sum(rows.map((c) => c.response_count)),
        ),
        duration_seconds: mean(between(rows, 'created_at', 'last_message_at'), 1000),
        classified_count: seen(
          content,
          classifiedAs(() => true),
        ),
        resolved_count: seen(
          content,
          classifiedAs((resolution) => resolution === 'resolved'),
        ),
        first_contact_count: seen(content, decided.length),
        first_contact_resolved: seen(content, decided.filter((r) => r.first_contact_resolved).length),
        sentiment_average: seen(content, mean(hundredths('sentiment'), 100, 100)),
        confidence_average: seen(content, mean(hundredths('confidence'), 100, 100)),
        confidence_count: seen(content, known('confidence').length),
      },
      ratings: seen(content, tally(rows.map((c) => c.rating_label))),
      outcomes: seen(content, tally(results.map((r) => r.outcome))),
      duration_by_platform: tally(rows.map((c) => c.platform)).map(([platform, conversation_count]) => {
        const sample = between(
          rows.filter((c) => c.platform === platform),
          'created_at',
          'last_message_at',
        );
        return { platform, conversation_count, sample_count: sample.length, average_seconds: mean(sample, 1000) };
      }),
    },
  };
}
