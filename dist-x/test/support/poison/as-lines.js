/** The type and the member of a record in a file, by place. */
const MEMBERS = {
    'message.text': ['message', 'text'],
    'message.html': ['message', 'text'],
    'message.attributes': ['message', 'content_attributes'],
    'message.time': ['message', 'created_at'],
    'message.type': ['message', 'author_type'],
    'message.format': ['message', 'kind'],
    'note.text': ['note', 'text'],
    'contact.name': ['contact', 'name'],
    'contact.last_name': ['contact', 'last_name'],
    'contact.email': ['contact', 'email'],
    'contact.phone': ['contact', 'mobile'],
    'contact.company': ['contact', 'company'],
    'contact.country': ['contact', 'country'],
    'contact.time': ['contact', 'created_at'],
    'conversation.subject': ['conversation', 'subject'],
    'conversation.language': ['conversation', 'language'],
    'conversation.rating': ['conversation', 'rating'],
    'conversation.score': ['conversation', 'rating'],
    'conversation.status': ['conversation', 'status'],
    'conversation.time': ['conversation', 'created_at'],
    'channel.name': ['channel', 'name'],
    'channel.type': ['channel', 'platform'],
    'team.name': ['team', 'name'],
    'operator.name': ['operator', 'name'],
    'saved_response.content': ['saved_response', 'content'],
    'saved_response.label': ['saved_response', 'label'],
    'file.name': ['file', 'name'],
    'file.media_type': ['file', 'media_type'],
    'file.size': ['file', 'width'],
    'saved_link.url': ['saved_link', 'url'],
};
const AT = '2026-11-01T10:00:00Z';
const website = 'site';
const said = { type: 'message', visibility: 'public', kind: 'text', created_at: AT };
const talk = { type: 'conversation', website, status: 'unassigned', platform: 'chat', created_at: AT };
const BASE = [
    { type: 'organization', external_id: 'poison', name: 'Poison' },
    { type: 'website', external_id: website, organization: 'poison', name: 'Site', time_zone: 'UTC' },
    { ...talk, external_id: 'sentinels' },
];
/** The text of the message that follows item `n`. */
export const sentinelOf = (n) => `sentinel ${n}`;
/** A record as a line. `raw` is a member with text in place of JSON, such as attributes. */
function lineOf(record, raw) {
    const line = JSON.stringify(record);
    return raw ? `${line.slice(0, -1)},"${raw[0]}":${raw[1]}}` : line;
}
function memberOf({ at, value }) {
    if (at === 'conversation.rating')
        return { label: value };
    if (at === 'conversation.score')
        return { label: 'rated', score: Number(value) };
    return at === 'file.size' ? Number(value) : value;
}
/** The records of an item: a whole conversation, in which one record holds the poison. */
function records(n, type) {
    const named = (kind) => (type === kind ? { [kind]: `${kind}-${n}` } : {});
    const own = (kind) => type === kind ? [{ ...OWN[kind], type: kind, external_id: `${kind}-${n}` }] : [];
    const conversation = `conversation-${n}`;
    return [
        ...['channel', 'team', 'operator', 'saved_response', 'saved_link'].flatMap(own),
        { type: 'contact', external_id: `contact-${n}`, website, name: `Contact ${n}`, created_at: AT },
        { type: 'visitor', external_id: `visitor-${n}`, website, contacts: [`contact-${n}`], created_at: AT },
        {
            ...{ ...talk, external_id: conversation, visitor: `visitor-${n}`, contacts: [`contact-${n}`] },
            ...{ ...named('channel'), ...named('team'), ...named('operator') },
        },
        {
            ...{ ...said, external_id: `message-${n}`, conversation, text: `message ${n}` },
            ...{ author_type: 'visitor', author: `visitor-${n}` },
        },
        ...(type === 'file' ? [{ ...OWN['file'], type, external_id: `file-${n}`, message: `message-${n}` }] : []),
        ...(type === 'note'
            ? [{ type, external_id: `note-${n}`, visitor: `visitor-${n}`, text: 'n', created_at: AT }]
            : []),
    ];
}
const OWN = {
    channel: { website, platform: 'chat' },
    team: { website },
    operator: { organization: 'poison', role: 'operator', name: 'Ann', websites: [website] },
    saved_response: { website, language: 'en', label: 'l', content: 'c', category_name: 'k' },
    saved_link: { website, label: 'l' },
    file: { name: 'f', media_type: 'text/plain', content_base64: 'YQ==', created_at: AT },
};
export function storedAt(n, { at }) {
    if (at === 'line' || at === 'query')
        return undefined;
    const [type, member] = MEMBERS[at];
    const column = at === 'conversation.rating' ? 'rating_label' : at === 'conversation.score' ? 'rating_score' : member;
    return { table: type, column: at === 'message.attributes' ? 'text' : column, id: `${type}-${n}` };
}
/** One file with the items, each followed by a sentinel. `n` of an item is its place in `all`. */
export function fileOf(items, all) {
    const lines = BASE.map((record) => JSON.stringify(record));
    const where = new Map();
    for (const item of items) {
        const n = all.indexOf(item);
        const [type, member] = item.at === 'line' || item.at === 'query' ? ['', ''] : MEMBERS[item.at];
        const html = item.at === 'message.html' ? { kind: 'html' } : {};
        for (const record of records(n, type)) {
            if (record['type'] !== type)
                lines.push(lineOf(record));
            else if (item.at === 'message.attributes')
                lines.push(lineOf(record, [member, item.value]));
            else
                lines.push(lineOf({ ...record, ...html, [member]: memberOf(item) }));
            if (record['type'] === type)
                where.set(item, lines.length);
        }
        if (item.at === 'line')
            where.set(item, lines.push(item.bytes ?? item.value));
        lines.push(lineOf({ ...said, external_id: `s-${n}`, conversation: 'sentinels', author_type: 'system', text: sentinelOf(n) }));
    }
    return { bytes: Buffer.concat(lines.flatMap((line) => [Buffer.from(line), Buffer.from('\n')])), lineOf: where };
}
//# sourceMappingURL=as-lines.js.map