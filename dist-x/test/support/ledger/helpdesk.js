import { createServer } from 'node:http';
import { z } from 'zod';
import { FAILURE_CODES } from '../../../src/core/failures.js';
export async function openHelpdesk() {
    const effects = [];
    const asked = [];
    const endings = new Map();
    let held = [];
    let mood = 'perform';
    let memory = 'true';
    const perform = (work) => {
        const note_id = effects.push({ ...work, at: Date.now() });
        const done = work.command.operation === 'visitor_note_add'
            ? { note_id, author: `Author ${work.author}`, created_at: '2026-11-20 10:00:00+00' }
            : {};
        endings.set(work.operationId, { done });
        return { done };
    };
    const answer = (response, status, body) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    const take = (work, response) => {
        if (mood === 'perform')
            answer(response, 200, perform(work));
        else if (mood === 'reject' || mood === 'refuse') {
            const ending = mood === 'reject' ? { rejected: 'operation_conflict' } : { refused: 'native_unavailable' };
            if (mood === 'reject')
                endings.set(work.operationId, ending);
            answer(response, 200, ending);
        }
        else if (mood === 'perform and lose') {
            perform(work);
            response.destroy();
        }
        else if (mood === 'perform and wait') {
            const ending = perform(work);
            held.push(() => answer(response, 200, ending));
        }
        else if (mood === 'wait')
            held.push(() => answer(response, 200, perform(work)));
    };
    const server = createServer((request, response) => {
        const operationId = (request.url ?? '').slice(1);
        asked.push({ method: request.method ?? '', operationId });
        if (request.method === 'GET') {
            const refusal = { refused: 'not_found' };
            const ending = memory === 'true' ? endings.get(operationId) : memory === 'refused' ? refusal : undefined;
            if (memory !== 'hangs')
                answer(response, memory === 'broken' ? 500 : ending ? 200 : 404, ending ?? {});
            return;
        }
        let text = '';
        request.on('data', (part) => {
            text += part.toString();
        });
        request.on('end', () => take(JSON.parse(text), response));
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address(); // the cast is sound, because the address of a TCP server is an AddressInfo
    return {
        url: `http://127.0.0.1:${port}`,
        effects,
        asked,
        mood: (next) => {
            mood = next;
        },
        memory: (next) => {
            memory = next;
        },
        async holding(n) {
            while (held.length < n)
                await new Promise((resolve) => setTimeout(resolve, 2));
        },
        release() {
            for (const go of held)
                go();
            held = [];
        },
        async close() {
            server.closeAllConnections();
            await new Promise((resolve) => server.close(resolve));
        },
    };
}
const Code = z.enum(FAILURE_CODES);
const EndingSchema = z.union([
    z.strictObject({ done: z.record(z.string(), z.unknown()) }),
    z.strictObject({ rejected: Code }),
    z.strictObject({ refused: Code }),
]);
/** The writer for this helpdesk, as an example for connectors to real ones. */
export const helpdeskWriter = ({ url }) => ({
    async perform(work, signal) {
        const response = await fetch(`${url}/${work.operationId}`, { method: 'POST', body: JSON.stringify(work), signal });
        if (!response.ok)
            throw new Error(`the helpdesk answered ${response.status}`);
        return EndingSchema.parse(await response.json());
    },
    async find(operationId) {
        const response = await fetch(`${url}/${operationId}`);
        if (response.status === 404)
            return undefined;
        if (!response.ok)
            throw new Error(`the helpdesk answered ${response.status}`);
        return EndingSchema.parse(await response.json());
    },
});
//# sourceMappingURL=helpdesk.js.map