const formats = new Map();
function local(moment, timeZone) {
    const known = formats.get(timeZone);
    const format = known ?? new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short', timeStyle: 'short', hourCycle: 'h23' });
    if (!known)
        formats.set(timeZone, format);
    const [day = '', time = ''] = format.format(moment).split(', ');
    return { day, hour: time.slice(0, 2) };
}
const shift = (day, days) => new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
function daysOf({ now, range }, zone) {
    const today = local(new Date(now), zone).day;
    if (range.start !== undefined && range.end !== undefined)
        return ['date', range.start, range.end];
    if (range.range === 'today')
        return ['today', today, today];
    if (range.range !== 'last-month')
        return ['last-7-days', shift(today, -6), today];
    const last = shift(`${today.slice(0, 7)}-01`, -1);
    return ['last-month', `${last.slice(0, 7)}-01`, last];
}
function tally(labels) {
    const counts = new Map();
    for (const label of labels)
        if (label !== null)
            counts.set(label, (counts.get(label) ?? 0) + 1);
    return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
}
const sum = (numbers) => numbers.reduce((all, one) => all + one, 0);
/** The mean of whole numbers in units of 1/scale, rounded to 1/(scale × finer). Halves are rounded away from zero. */
function mean(units, scale, finer = 1, count = units.length) {
    if (count === 0)
        return null;
    const value = (sum(units.map(Math.round)) * finer) / count;
    return (Math.sign(value) * Math.round(Math.abs(value))) / (scale * finer) + 0;
}
const between = (rows, from, to) => rows.flatMap((row) => {
    const [a, b] = [row[from], row[to]];
    return a instanceof Date && b instanceof Date ? [b.getTime() - a.getTime()] : [];
});
const mood = (value) => (value < -0.25 ? 'negative' : value > 0.25 ? 'positive' : 'neutral');
/** The whole expected answer, except for `meta.withheld` and `meta.website`. */
export function expectedReport(asked) {
    const zone = asked.timezone ?? asked.zone;
    const [range, start, end] = daysOf(asked, zone);
    const has = (scope, flag) => asked.scopes.includes(scope) && asked.dataAccess.includes(flag);
    const content = has('message_content_read', 'message_content');
    const pii = has('contact_read_pii', 'pii');
    const directory = pii && asked.scopes.includes('directory_read');
    const { channel_ids, team_ids, subsite_ids } = asked.restrictions;
    const permits = (site, ids, id) => !ids || (id !== null && ids.some((allowed) => allowed.endsWith(`_${site}_${id}`)));
    const rows = asked.conversations.filter((c) => {
        const { day } = local(c.created_at, zone);
        const allowed = permits(c.site, channel_ids, c.channel_id) &&
            permits(c.site, team_ids, c.team_id) &&
            permits(c.site, subsite_ids, c.subsite_id);
        return c.ai_involved && allowed && day >= start && day <= end;
    });
    const results = asked.results.filter((r) => rows.some((c) => c.id === r.conversation_id));
    const when = rows.map((c) => local(c.created_at, zone));
    const days = [];
    for (let day = start; day <= end; day = shift(day, 1))
        days.push(day);
    const hours = Array.from({ length: 24 }, (_, hour) => String(hour).padStart(2, '0'));
    const first = between(rows, 'first_visitor_at', 'first_reply_at');
    const speed = between(rows, 'first_visitor_at', 'first_operator_reply_at');
    const classifiedAs = (test) => new Set(results.filter((r) => r.resolution !== null && test(r.resolution)).map((r) => r.conversation_id)).size;
    const seen = (granted, value) => (granted ? value : null);
    const decided = results.filter((r) => r.first_contact_resolved !== null);
    const known = (member) => results.flatMap((r) => r[member] ?? []);
    const hundredths = (member) => known(member).map((value) => value * 100);
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
                average_response_seconds: mean(rows.map((c) => c.response_seconds * 1000), 1000, 1, sum(rows.map((c) => c.response_count))),
                duration_seconds: mean(between(rows, 'created_at', 'last_message_at'), 1000),
                classified_count: seen(content, classifiedAs(() => true)),
                resolved_count: seen(content, classifiedAs((resolution) => resolution === 'resolved')),
                first_contact_count: seen(content, decided.length),
                first_contact_resolved: seen(content, decided.filter((r) => r.first_contact_resolved).length),
                sentiment_average: seen(content, mean(hundredths('sentiment'), 100, 100)),
                confidence_average: seen(content, mean(hundredths('confidence'), 100, 100)),
                confidence_count: seen(content, known('confidence').length),
            },
            ratings: seen(content, tally(rows.map((c) => c.rating_label))),
            outcomes: seen(content, tally(results.map((r) => r.outcome))),
            duration_by_platform: tally(rows.map((c) => c.platform)).map(([platform, conversation_count]) => {
                const sample = between(rows.filter((c) => c.platform === platform), 'created_at', 'last_message_at');
                return { platform, conversation_count, sample_count: sample.length, average_seconds: mean(sample, 1000) };
            }),
        },
    };
}
//# sourceMappingURL=oracle.js.map