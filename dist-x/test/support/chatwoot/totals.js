/** Adds to each conversation the totals of its messages, as the gateway shows them. */
export function totalsOf(world) {
    const messages = new Map();
    for (const [id, { members }] of world.message) {
        if (members['visibility'] !== 'public')
            continue;
        const conversation = String(members['conversation']);
        const all = messages.get(conversation) ?? [];
        all.push([String(members['created_at']), Number(id.split(':').at(-1)), String(members['author_type'])]);
        messages.set(conversation, all);
    }
    for (const [id, { members, optional }] of world.conversation) {
        world.conversation.set(id, { members: { ...members, ...totals(messages.get(id) ?? []) }, optional });
    }
}
function totals(all) {
    all.sort(([a, i], [b, j]) => (a === b ? i - j : a < b ? -1 : 1));
    const by = (author) => all.filter(([, , one]) => one === author).length;
    const first = (fits) => all.find(([at, , author]) => fits(at, author))?.[0] ?? null;
    const visitor = first((_, author) => author === 'visitor');
    const after = (fits) => typeof visitor === 'string' ? first((at, author) => at >= visitor && fits(author)) : null;
    const replies = all.filter(([, , author], i) => (author === 'bot' || author === 'operator') && all[i - 1]?.[2] === 'visitor');
    // The gateway orders messages of one time by its own numbers, so replies among them cannot be predicted.
    const tie = all.some(([at], i) => at === all[i - 1]?.[0]);
    return {
        message_count: all.length,
        visitor_messages: by('visitor'),
        bot_messages: by('bot'),
        operator_messages: by('operator'),
        last_message_at: all.at(-1)?.[0] ?? null,
        first_visitor_at: visitor,
        first_reply_at: after((author) => author !== 'visitor'),
        first_operator_reply_at: after((author) => author === 'operator'),
        response_count: tie ? undefined : replies.length,
    };
}
//# sourceMappingURL=totals.js.map