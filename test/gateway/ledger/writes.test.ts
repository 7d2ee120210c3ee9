import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonSchema } from '../../../src/core/json-schema.ts';
import { defineTool } from '../../../src/core/tool.ts';
import { loadTools } from '../../../src/gateway/load.ts';
import { AddNote } from '../../../src/writes/visitor-note-add.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';
import { WRITES } from '../../support/ledger/commands.ts';

const tools = (await loadTools()).operations.filter(({ performs }) => performs !== undefined);
let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase('empty');
});
afterAll(() => database.close());

describe('a write to records', () => {
  it('has one name: that of its tool, and of its case in operation_get', async () => {
    expect(tools.map(({ name }) => name)).toEqual([...WRITES].sort());
    for (const { name, performs, idempotency, effect } of tools) {
      expect({ name: performs?.name, idempotency, effect }).toEqual({ name, idempotency: 'required', effect: 'write' });
    }
    const receipt = (await loadTools()).get('operation_get')?.output ?? expect.fail('no operation_get');
    expect(JSON.stringify(jsonSchema(receipt, 'output'))).toContain(`"enum":${JSON.stringify(WRITES)}`);
  });

  it('is performed by the SQL function that its module names', async () => {
    const [row] = await database.sql`SELECT prosrc FROM pg_proc WHERE oid = 'gateway.write_batch'::regproc`;
    const cases = String(row?.['prosrc']).matchAll(/'(\w+)' THEN\s+(?:answers := )?(platform\.\w+)\(/g);
    const performed = [...cases].map(([, name, writer]) => [name, writer]).sort();
    expect(performed).toEqual(tools.map(({ performs }) => [performs?.name, performs?.writer]).sort());
  });

  it('gives its handler the types of its own command and result, and no other tool a way to perform', () => {
    const declared = {
      name: 'planted',
      title: 'Planted',
      summary: 'Never called.',
      rest: 'POST /api/v1/planted',
      effect: 'write',
      tag: 'Visitors',
      scopes: [],
      restrictions: 'none',
      author: 'none',
      idempotency: 'required',
      emits: [],
      input: {},
      output: z.strictObject({ id: z.number() }),
    } as const;
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
