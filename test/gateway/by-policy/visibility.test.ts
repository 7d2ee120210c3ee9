import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nameOf, pathOf, WRITES_BY_POLICY, type Write } from '../../support/authority/operations.ts';
import { callOver, SURFACES } from '../../support/authority/writes.ts';
import { gateway as cli, cliDatabase, demoApp, document, issueArguments, refused, text } from '../../support/cli.ts';
import type { Issued } from '../../support/credentials.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { freshKey } from '../../support/ledger/approvals.ts';
import { rpc } from '../../support/surfaces/mcp.ts';

/** Operations by policy: who has them, and that they are absent for everybody else. */
const WEB = 'web_1_1';
const AUTHORS = ['opr_1_1_1'];
const NAMES = WRITES_BY_POLICY.map(({ tool }) => tool).sort();

let gateway: TestGateway;
let plain: Issued;
let holder: Issued;
beforeAll(async () => {
  gateway = await openTestGateway('demo', await cliDatabase('demo'));
  plain = await gateway.issue({ authors: AUTHORS });
  holder = await gateway.issue({ authors: AUTHORS, write: NAMES });
});
afterAll(() => gateway.close());

const made = (write: Write, { token }: Pick<Issued, 'token'>) => ({
  ...{ write, website: WEB, number: 1, token, key: freshKey() },
});

interface Shown {
  readonly tools: readonly string[];
  readonly capabilities: readonly string[];
  readonly explained: readonly string[];
}

/** The names of the operations that a credential finds in each list. */
async function shownTo({ token }: Pick<Issued, 'token'>): Promise<Shown> {
  const named = (rows: readonly Readonly<Record<string, unknown>>[], member: string) =>
    rows.map((row) => String(row[member]));
  const capabilities = await gateway.ask(`/api/v1/capabilities?website_id=${WEB}`, { token });
  const access = await gateway.ask('/api/v1/access', { token });
  return {
    tools: named((await rpc(gateway.port, token, 'tools/list')).body.result.tools, 'name'),
    capabilities: named(capabilities.body.data.operations, 'operation'),
    explained: named(access.body.data.operations, 'operation'),
  };
}

const ofPolicy = (names: readonly string[]): string[] => names.filter((name) => NAMES.includes(name));

describe('a credential whose policy does not name them', () => {
  it('finds them in no list', async () => {
    expect(NAMES).toEqual(['conversation_assign', 'conversation_reply', 'conversation_status_set']);
    const shown = await shownTo(plain);
    for (const names of Object.values(shown)) {
      expect(names.length).toBeGreaterThan(40);
      expect(ofPolicy(names)).toEqual([]);
    }
  });

  it.each(WRITES_BY_POLICY.map((write) => [nameOf(write), write] as const))(
    'finds no %s over REST',
    async (_, write) => {
      const { token } = plain;
      const path = pathOf(write, WEB);
      const unknown = await gateway.ask(path.replace(/\w+$/, 'nothing'), { token, body: {} });
      const bodies = [write.body(WEB), {}, { nonsense: true }];
      const answers = [
        ...(await Promise.all(
          bodies.map((body) => gateway.ask(path, { token, body, headers: { 'idempotency-key': freshKey() } })),
        )),
        await gateway.ask(path, { token, raw: '{', method: 'POST', headers: { 'content-type': 'application/json' } }),
        await gateway.ask(path, { token, body: write.body(WEB) }),
        await gateway.ask(path, { token }),
        await gateway.ask(path, { token, method: 'DELETE' }),
      ];
      for (const { status, body } of answers)
        expect([status, { ...body, request_id: '', instance: '' }]).toEqual([
          404,
          { ...unknown.body, request_id: '', instance: '' },
        ]);
      expect(unknown.body.code).toBe('not_found');
    },
  );

  it.each(NAMES)('finds no %s over MCP', async (name) => {
    const said = async (tool: string) =>
      (await rpc(gateway.port, plain.token, 'tools/call', { name: tool, arguments: { conversation_id: 'cnv_1_1_1' } }))
        .body.error;
    expect(await said(name)).toEqual(await said('nothing'));
    expect((await said(name)).code).toBe(-32602);
    const explain = (operation: string) => gateway.ask(`/api/v1/access?operation=${operation}`, { token: plain.token });
    const [one, other] = [await explain(name), await explain('nothing')];
    expect([one.status, one.body.code, one.body.errors]).toEqual([400, other.body.code, other.body.errors]);
  });

  it('does not read about them in the public documents', async () => {
    for (const path of ['/api/v1/openapi.json', '/llms.txt', '/docs/reference']) {
      const { status, text: body } = await gateway.ask(path, { unchecked: true });
      expect([path, status]).toEqual([path, 200]);
      expect(body.includes('/conversations/{conversation_id}/replies'), path).toBe(false);
      expect(body.includes('/conversations/{conversation_id}/assignment'), path).toBe(false);
    }
  });
});

describe('a credential whose policy names them', () => {
  it('finds them in each list, beside all that others find', async () => {
    const [has, others] = [await shownTo(holder), await shownTo(plain)];
    for (const list of ['tools', 'capabilities', 'explained'] as const) {
      expect(ofPolicy(has[list])).toEqual(NAMES);
      expect(has[list].filter((name) => !NAMES.includes(name))).toEqual(others[list]);
    }
  });

  it.each(NAMES)('has only those that are named: %s', async (name) => {
    const one = await gateway.issue({ authors: AUTHORS, write: [name] });
    const shown = await shownTo(one);
    for (const names of Object.values(shown)) expect(ofPolicy(names)).toEqual([name]);
    for (const write of WRITES_BY_POLICY)
      for (const surface of SURFACES) {
        const { status } = await callOver[surface](gateway, made(write, one));
        expect([write.tool, surface, status]).toEqual([write.tool, surface, write.tool === name ? 200 : 404]);
      }
  });

  it('has each tool with a schema of its input, and marked as a write', async () => {
    const { tools } = (await rpc(gateway.port, holder.token, 'tools/list')).body.result;
    for (const name of NAMES) {
      const tool = tools.find((one: { name: string }) => one.name === name);
      expect(tool.annotations, name).toMatchObject({ readOnlyHint: false });
      expect(tool.inputSchema.required, name).toEqual(expect.arrayContaining(['conversation_id', 'idempotency_key']));
    }
  });
});

describe('the policy', () => {
  it('is given, changed and shown by the command, and acts at the next call', async () => {
    const { installation } = await demoApp();
    const issued = await document(
      ...issueArguments(installation),
      '--write',
      'conversation_status_set',
      '--data-access',
      'message_content',
      '--data-access',
      'pii',
    );
    const id = text(issued, 'credential_id');
    expect(issued).toMatchObject({
      write: ['conversation_status_set'],
      without_approval: [],
      approve: [],
      revision: 1,
    });
    const holds = async () => ofPolicy((await shownTo({ token: text(issued, 'token') })).tools);
    expect(await holds()).toEqual(['conversation_status_set']);
    const change = (...options: string[]) => document('credential', 'update', id, ...options);
    expect(await change('--write', 'conversation_assign,conversation_reply')).toMatchObject({
      ...{ write: ['conversation_assign', 'conversation_reply'], without_approval: [], revision: 2 },
    });
    expect(await holds()).toEqual(['conversation_assign', 'conversation_reply']);
    expect((await cli('credential', 'show', id)).stdout).toMatch(/writes by policy +conversation_assign/);
    expect(await change('--clear', 'write')).toMatchObject({ write: [], revision: 3 });
    expect(await holds()).toEqual([]);
  });

  it('names only operations by policy', async () => {
    const { installation } = await demoApp();
    const issue = (...options: string[]) => cli(...issueArguments(installation), ...options);
    expect(await issue('--write', 'search')).toEqual(refused('There is no such write search.', 2));
    expect(await issue('--write', 'visitor_note_add')).toEqual(refused('There is no such write visitor_note_add.', 2));
    expect(await issue('--without-approval', 'search')).toEqual(refused('There is no such write search.', 2));
  });

  it('frees only public replies from the approval, and only while it names them', async () => {
    const { installation } = await demoApp();
    const issued = await document(
      ...issueArguments(installation),
      ...['--write', 'conversation_reply,conversation_assign', '--without-approval', 'conversation_reply', '--yes'],
    );
    const id = text(issued, 'credential_id');
    expect(issued).toMatchObject({ without_approval: ['conversation_reply'] });
    const change = (...options: string[]) => document('credential', 'update', id, ...options);
    const free = ['conversation_reply'];
    expect(await change('--write', 'conversation_assign')).toMatchObject({ without_approval: [] });
    expect(await change('--write', 'conversation_reply')).toMatchObject({ without_approval: [] });
    expect(await change('--without-approval', 'conversation_reply', '--yes')).toMatchObject({ without_approval: free });
    expect(await change('--approve', 'conversation_reply')).toMatchObject({
      ...{ approve: ['conversation_reply'], without_approval: [] },
    });
    expect(await change('--without-approval', 'conversation_reply', '--yes')).toMatchObject({
      ...{ approve: [], without_approval: free },
    });
    // A note waits only if the policy says so, so nothing is kept about it.
    expect(await change('--without-approval', 'visitor_note_add')).toMatchObject({ without_approval: free });
  });
});
