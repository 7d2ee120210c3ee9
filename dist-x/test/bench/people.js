import { generator, pickFrom } from '../support/random.js';
import { sentence, vocabulary } from './import.js';
/** Messages of a conversation. */
export const TURNS = 20;
const random = generator(20_261_127);
const words = vocabulary(random);
const created_at = '2026-01-01T00:00:00Z';
/** Two organizations with a website each. The second one has one contact, for readers. */
export function* catalogues() {
    for (const name of ['desk', 'neighbour']) {
        yield { type: 'organization', external_id: name, name };
        yield { type: 'website', external_id: name, organization: name, name, time_zone: 'UTC' };
    }
    yield {
        ...{ type: 'operator', external_id: 'op', organization: 'desk', name: 'Op' },
        role: 'operator',
        websites: ['desk'],
    };
    yield { type: 'contact', external_id: 'reader', website: 'neighbour', name: 'Reader', created_at };
}
/** People of the first website, each with so many messages. `name` is a part of external_ids and of texts. */
export function* people(name, messages) {
    for (const i of messages.keys()) {
        const person = `${name} ${i}`;
        yield { type: 'contact', external_id: person, website: 'desk', name: pickFrom(words, random), created_at };
        yield { type: 'visitor', external_id: person, website: 'desk', contacts: [person], created_at };
    }
    for (const [i, own] of messages.entries()) {
        const person = `${name} ${i}`;
        for (let c = 0; c < own / TURNS; c++)
            yield {
                ...{
                    type: 'conversation',
                    external_id: `${person} ${c}`,
                    website: 'desk',
                    visitor: person,
                    contacts: [person],
                },
                ...{ status: 'closed', platform: 'chat', subject: sentence(words, random), created_at },
            };
    }
    for (const [i, own] of messages.entries()) {
        const person = `${name} ${i}`;
        for (let m = 0; m < own; m++) {
            const asks = m % 2 === 0;
            yield {
                ...{ type: 'message', external_id: `${person} ${m}`, conversation: `${person} ${Math.floor(m / TURNS)}` },
                ...{
                    author_type: asks ? 'visitor' : 'operator',
                    author: asks ? person : 'op',
                    visibility: 'public',
                    kind: 'text',
                },
                ...{ text: `${sentence(words, random)} ${name}`, language: 'en', created_at },
            };
        }
    }
}
//# sourceMappingURL=people.js.map