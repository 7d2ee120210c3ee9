const formats = new Map();
/**
 * A moment as RFC 3339 text in a time zone, such as `2026-11-24T09:15:00-05:00`. `at` is in Unix milliseconds. A zone
 * that this Node does not know gives UTC.
 */
export function localTime(at, zone) {
    const part = new Map(formatOf(zone)
        .formatToParts(at)
        .map(({ type, value }) => [type, value]));
    const of = (type) => part.get(type) ?? '';
    // `GMT+05:30`, and only `GMT` for UTC.
    const offset = of('timeZoneName').slice('GMT'.length) || '+00:00';
    return `${of('year')}-${of('month')}-${of('day')}T${of('hour')}:${of('minute')}:${of('second')}${offset}`;
}
function formatOf(zone) {
    const known = formats.get(zone);
    if (known)
        return known;
    const made = (timeZone) => new Intl.DateTimeFormat('en-US', {
        timeZone,
        hourCycle: 'h23',
        year: 'numeric',
        month: '2-digit',
        day: '2-digit',
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
        timeZoneName: 'longOffset',
    });
    try {
        formats.set(zone, made(zone));
    }
    catch (error) {
        if (!(error instanceof RangeError))
            throw error;
        formats.set(zone, made('UTC'));
    }
    return formatOf(zone);
}
//# sourceMappingURL=local-time.js.map