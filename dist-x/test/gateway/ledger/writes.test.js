import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { OperationId, VisitorId, WebsiteId } from '../../../src/core/ids.js';
import { defineTool } from '../../../src/core/tool.js';
import { defineWrite } from '../../../src/core/writes.js';
import { VisitorView } from '../../../src/views/visitor.js';
import { WRITES } from '../../../src/writes/all.js';
import { AddNote } from '../../../src/writes/visitor-note-add.js';
import { SITE, VISITOR } from '../../support/ledger/commands.js';
import { openWorld } from '../../support/ledger/world.js';
let world;
let token;
beforeAll(async () => {
    world = await openWorld();
    ({ token } = await world.writer());
});
afterAll(() => world.close());
const planted = {
    name: 'planted',
    title: 'Planted',
    summary: 'Only this test calls the tool.',
    tag: 'Visitors',
    scopes: [],
    restrictions: 'none',
};
const writing = {
    ...planted,
    rest: 'POST /api/v1/planted',
    effect: 'write',
    author: 'required',
    idempotency: 'required',
    emits: ['visitor.changed'],
};
/** A write that only this test declares. `writer` is the SQL function that makes the change. */
const renaming = (writer) => defineWrite()({
    name: 'visitor_rename',
    about: ['visitor', VisitorView],
    result: z.object({ nickname: z.string() }),
    writer,
});
/** Creates an SQL function that renames a visitor. `condition` says which commands get an answer. */
const createWriter = (name, condition) => world.gateway.database.sql.unsafe(`
    CREATE FUNCTION platform.${name}(
      p_tenant bigint, p_site bigint, p_ids text[], p_authors platform.operator[], p_commands jsonb[]
    ) RETURNS text[] LANGUAGE sql AS $$
      UPDATE platform.visitor v SET nickname = p_commands[1] ->> 'nickname'
       WHERE v.tenant = p_tenant AND v.site = p_site AND v.id = (p_commands[1] ->> 'visitor')::bigint;
      SELECT array_agg(json_build_object('done', json_build_object('nickname', c ->> 'nickname'))::text)
        FROM unnest(p_commands) AS c WHERE ${condition}
    $$`);
async function rename(writer, nickname, key) {
    const tool = defineTool({
        ...writing,
        performs: renaming(writer),
        input: { path: { visitor_id: VisitorId.schema }, body: { nickname: z.string() } },
        output: z.strictObject({ nickname: z.string() }),
        handle: ({ input, perform }) => perform({ visitor: input.visitor_id, nickname: input.nickname }),
    });
    const input = { visitor_id: VISITOR, nickname };
    return world.gateway.corridor.call({ tool, resource: 'rest', bearer: token, input, idempotencyKey: key });
}
const nickname = async () => (await world.gateway.database.sql `SELECT nickname FROM platform.visitor WHERE (tenant, site, id) = (1, 1, 4)`)[0]?.['nickname'];
describe('a write to records', () => {
    it('is in the list of writes, and requires an idempotency key', () => {
        const tools = world.gateway.corridor.registry.operations.filter(({ performs }) => performs !== undefined);
        expect(tools.length).toBeGreaterThanOrEqual(4);
        expect(tools.map(({ performs }) => performs?.name).sort()).toEqual(WRITES.map(({ name }) => name).sort());
        for (const { name, performs, idempotency } of tools) {
            expect({ name: performs?.name, idempotency }).toEqual({ name, idempotency: 'required' });
        }
    });
    it('needs only its module and its SQL function', async () => {
        await createWriter('rename_visitors', 'true');
        const receipts = (await world.journal()).length;
        const first = await rename('platform.rename_visitors', 'Robin', 'rename');
        const again = await rename('platform.rename_visitors', 'Robin', 'rename');
        const id = first.operation?.id ?? '';
        expect(first).toMatchObject({ body: { nickname: 'Robin' }, operation: { id, replayed: false } });
        expect(again).toMatchObject({ body: { nickname: 'Robin' }, operation: { id, replayed: true } });
        expect(await nickname()).toBe('Robin');
        expect((await world.journal()).slice(receipts)).toEqual(['visitor.changed']);
        const read = defineTool({
            ...planted,
            rest: 'GET /api/v1/planted',
            effect: 'read',
            input: { query: { operation_id: OperationId, website_id: WebsiteId } },
            output: z.strictObject({ operation_id: OperationId, operation: z.string(), status: z.string() }),
            handle: ({ input, read }) => read.operation({ id: input.operation_id }),
        });
        const input = { operation_id: id, website_id: SITE };
        expect(await world.gateway.corridor.call({ tool: read, resource: 'rest', bearer: token, input })).toMatchObject({
            body: { operation: 'visitor_rename', status: 'acknowledged' },
        });
    });
    it('fails and has no effect if its SQL function is missing or leaves a command without an answer', async () => {
        await createWriter('forget_answers', 'false');
        const before = [await nickname(), await world.rows(), await world.journal()];
        for (const [writer, reason] of [
            ['platform.nowhere', 'function "platform.nowhere" does not exist'],
            ['platform.forget_answers', 'platform.forget_answers must return one answer for each command'],
        ]) {
            const outcome = await rename(writer, 'Lost', writer);
            const failure = 'failure' in outcome ? outcome.failure : expect.fail('no failure');
            expect([failure.code, String(failure.details.cause)]).toEqual(['internal', expect.stringContaining(reason)]);
        }
        expect([await nickname(), await world.rows(), await world.journal()]).toEqual(before);
    });
    it('gives its handler the types of its own command and result, and no other tool a way to perform', () => {
        const declared = { ...writing, input: {}, output: z.strictObject({ id: z.number() }) };
        defineTool({
            ...declared,
            performs: AddNote,
            handle: async ({ perform }) => ({ id: (await perform({ visitor: 'vis_1_1_1', text: 'Typed' })).note_id }),
        });
        defineTool({
            ...declared,
            performs: AddNote,
            // @ts-expect-error: the command has no text
            handle: async ({ perform }) => ({ id: (await perform({ visitor: 'vis_1_1_1' })).note_id }),
        });
        defineTool({
            ...declared,
            // @ts-expect-error: without a write there is nothing to perform
            handle: async ({ perform }) => ({ id: (await perform({ visitor: 'vis_1_1_1', text: 'Untyped' })).note_id }),
        });
    });
});
//# sourceMappingURL=writes.test.js.map