import { expect, it } from 'vitest';
import { expectedText } from '../../src/core/accepted-values.js';
import { Failure } from '../../src/core/failures.js';
import { parseInput } from '../../src/gateway/call-input.js';
import { loadPrompts, loadSkills, loadTools } from '../../src/gateway/load.js';
const registry = await loadTools();
function errorsOf(name, input) {
    const tool = registry.get(name) ?? expect.fail(name);
    try {
        parseInput({ tool, input }); // parseInput reads only these two members
    }
    catch (error) {
        return error instanceof Failure ? error.details.errors : error;
    }
    return [];
}
const DEFINITION = {
    website_ids: ['web_1_1'],
    event_types: ['conversation.*'],
    payload_mode: 'thin',
    delivery: { mode: 'pull' },
    start: 'beginning',
};
const wrong = 'invalid_parameter';
const unknown = 'unsupported_parameter';
const website_id = 'web_1_1';
const visitor_id = 'vis_1_1_1';
const id = 'an id such as web_1_1';
const names = 'one of the names website_id, limit, cursor';
const days = 'one of today, last-7-days, last-month, date';
const type = 'an event type such as conversation.*: a family (conversation, visitor, operator, queue, website, privacy, capture), a dot and a kind (changed, removed, snapshot, gap, heartbeat or *)';
const page = 'the next_cursor of the previous page, unchanged';
const note = 'a text of 1 to 4000 UTF-16 code units with more than spaces';
const text = 'a text without U+0000 and without unpaired surrogates';
it.each([
    ['ai_conversation_summary', { website_id, range: 'yesterday' }, { parameter: 'range' }, wrong, days],
    ['conversations_list', {}, { parameter: 'website_id' }, 'missing', id],
    ['contacts_list', { website_id, limit: 0 }, { parameter: 'limit' }, wrong, 'an integer from 1 to 100'],
    ['contacts_list', { website_id, cursor: 'x' }, { parameter: 'cursor' }, 'invalid_cursor', page],
    ['teams', { website_id, page: 2 }, { parameter: 'page' }, unknown, names],
    ['websites_list', { page: 2 }, { parameter: 'page' }, unknown, 'no parameters'],
    // The array has this member, so the error must not say that the member is missing.
    ['subscription_create', { ...DEFINITION, event_types: ['x'] }, { pointer: '/event_types/0' }, wrong, type],
    ['subscription_create', { ...DEFINITION, delivery: { mode: 'x' } }, { pointer: '/delivery/mode' }, wrong, '"pull"'],
    [
        'subscription_create',
        { ...DEFINITION, delivery: 'pull' },
        { pointer: '/delivery' },
        wrong,
        'an object with mode ("pull")',
    ],
    ['subscription_create', { ...DEFINITION, delivery: {} }, { pointer: '/delivery/mode' }, 'missing', '"pull"'],
    [
        'subscription_create',
        { ...DEFINITION, delivery: { mode: 'pull', url: 'x' } },
        { pointer: '/delivery/url' },
        unknown,
        'only the name mode',
    ],
    ['visitor_note_add', { visitor_id, text: ' ' }, { pointer: '/text' }, wrong, note],
    ['visitor_note_add', { visitor_id, text: 'a\u0000' }, { pointer: '/text' }, wrong, text],
])('%s %j', (tool, input, place, code, expected) => {
    expect(errorsOf(tool, input)).toEqual([{ ...place, code, expected }]);
});
it('every parameter, skill argument and prompt argument has words for what it accepts', async () => {
    const shapes = [
        ...registry.tools.map(({ name, input }) => [name, input]),
        ...(await loadSkills(registry)).all.map(({ skill }) => [skill.name, skill.input]),
        ...(await loadPrompts()).map(({ name, input }) => [name, input]),
    ];
    const told = shapes.flatMap(([name, { shape }]) => Object.entries(shape).map(([member, schema]) => [`${name}.${member}`, expectedText(schema)]));
    // A text without a length has a pattern, so its schema must say in words what the pattern accepts.
    const vague = /^(a text|an integer|an array of values.*|a value of the documented type)$|\bof at most\b/;
    expect(told.filter(([, text]) => vague.test(text))).toEqual([]);
    expect(told.length).toBeGreaterThan(140);
});
//# sourceMappingURL=input-errors.test.js.map