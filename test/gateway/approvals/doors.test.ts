import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { upkeep } from '../../../src/gateway/upkeep.ts';
import { auditOf, brief } from '../../support/audit.ts';
import { gateway as cli, cliDatabase, demoApp, document, parse, refused, text } from '../../support/cli.ts';
import type { Issued } from '../../support/credentials.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { asked, asker, effectsOf, freshKey, send, statusOf } from '../../support/ledger/approvals.ts';
import {
  CONVERSATION,
  detection,
  disposition,
  note,
  SITE,
  sample,
  VISITOR,
  WRITES,
} from '../../support/ledger/commands.ts';

/** A write that waits for a person, from the call over REST to the command that decides. */
let gateway: TestGateway;
let by: Issued;
beforeAll(async () => {
  gateway = await openTestGateway('demo', await cliDatabase('demo'), undefined, {}, undefined, undefined, true);
  by = await asker(gateway);
});
afterAll(() => gateway.close());

describe('a write that waits', () => {
  it('has 202, the page and the receipt, and no effect', async () => {
    const before = await effectsOf(gateway.database, 'Ask me first');
    const key = freshKey();
    const first = await send(gateway, by, note('Ask me first'), key);
    expect([first.status, first.replayed, first.answer.headers['location']]).toEqual([
      202,
      false,
      `/console/approvals/${first.id}`,
    ]);
    expect(first.answer.body).toEqual({
      data: {
        operation_id: first.id,
        website_id: SITE,
        operation: 'visitor_note_add',
        status: 'pending',
        coverage: 'gateway_command_receipt',
      },
    });
    const again = await send(gateway, by, note('Ask me first'), key);
    expect([again.status, again.replayed, again.id]).toEqual([202, true, first.id]);
    expect(await statusOf(gateway, by, first.id)).toBe('pending');
    expect(await effectsOf(gateway.database, 'Ask me first')).toEqual(before);
    expect((await send(gateway, by, note('Ask me otherwise'), key)).code).toBe('idempotency_conflict');
  });

  it.each(WRITES)('%s takes effect once, when it is approved', async (tool) => {
    const key = freshKey();
    const command = sample(tool, `approved-${tool}`);
    const id = await asked(gateway, by, command, key);
    const told = await document('approvals', 'approve', id);
    expect(told).toMatchObject({
      operation_id: id,
      operation: tool,
      state: 'approved',
      status: 'acknowledged',
      command: null,
    });
    const done = await send(gateway, by, command, key);
    expect([done.status, done.replayed, done.id]).toEqual([200, true, id]);
    expect(await statusOf(gateway, by, id)).toBe('acknowledged');
    const again = await cli('approvals', 'approve', id);
    expect(again).toEqual(refused(`Operation ${id} is already approved.`));
  });

  it('appends the receipt and the record of the decision with the effect', async () => {
    const id = await asked(gateway, by, note('With its receipt'));
    const before = await effectsOf(gateway.database, 'With its receipt');
    await document('approvals', 'approve', id);
    const after = await effectsOf(gateway.database, 'With its receipt');
    expect(after).toEqual({ notes: 1, receipts: before.receipts + 1 });
    expect((await auditOf(gateway.database, { operation_id: id })).map(brief)).toMatchObject([
      {
        surface: 'rest',
        operation: 'visitor_note_add',
        outcome: 'ok',
        status: 202,
        targets: [VISITOR],
        credential_id: by.credential,
      },
      {
        surface: 'cli',
        operation: 'approvals approve',
        outcome: 'ok',
        status: 200,
        targets: [VISITOR],
        website_id: SITE,
      },
    ]);
  });

  it('never takes effect when it is rejected', async () => {
    const key = freshKey();
    const id = await asked(gateway, by, note('No, thank you'), key);
    expect(await document('approvals', 'reject', id)).toMatchObject({ operation_id: id, state: 'rejected' });
    const told = await send(gateway, by, note('No, thank you'), key);
    expect([told.status, told.code, told.id]).toEqual([409, 'approval_rejected', id]);
    expect(await statusOf(gateway, by, id)).toBe('rejected');
    expect(await cli('approvals', 'approve', id)).toEqual(refused(`Operation ${id} is already rejected.`));
    expect((await effectsOf(gateway.database, 'No, thank you')).notes).toBe(0);
    expect((await auditOf(gateway.database, { operation_id: id, surface: 'cli' })).map(brief)).toMatchObject([
      { operation: 'approvals reject', targets: [VISITOR] },
    ]);
  });

  it('lapses after 24 hours, and says so before and after upkeep', async () => {
    const key = freshKey();
    const id = await asked(gateway, by, note('Too late'), key);
    const { sql } = gateway.database;
    await sql`UPDATE gateway.approval SET requested_at = requested_at - interval '24 hours' WHERE operation_id = ${id}`;
    await sql`UPDATE gateway.operation SET created_at = created_at - interval '24 hours' WHERE operation_id = ${id}`;
    expect((await send(gateway, by, note('Too late'), key)).code).toBe('approval_lapsed');
    expect(await cli('approvals', 'list')).not.toMatchObject({ stdout: expect.stringContaining(id) });
    await upkeep({ db: gateway.database.db, registry: gateway.corridor.registry });
    expect((await send(gateway, by, note('Too late'), key)).code).toBe('approval_lapsed');
    expect(await statusOf(gateway, by, id)).toBe('lapsed');
    expect(await cli('approvals', 'approve', id)).toEqual(refused(`Operation ${id} is already lapsed.`));
    expect(await document('approvals', 'show', id)).toMatchObject({
      state: 'lapsed',
      lapsed_because: 'time',
      command: null,
    });
  });

  it('keeps its outcome for 24 hours from the decision, and then only the tombstone', async () => {
    const key = freshKey();
    const id = await asked(gateway, by, note('Decided late'), key);
    const { sql } = gateway.database;
    await sql`UPDATE gateway.approval SET requested_at = requested_at - interval '23 hours' WHERE operation_id = ${id}`;
    await sql`UPDATE gateway.operation SET created_at = created_at - interval '23 hours' WHERE operation_id = ${id}`;
    await document('approvals', 'approve', id);
    await sql`UPDATE gateway.operation SET created_at = created_at - interval '23 hours' WHERE operation_id = ${id}`;
    expect((await send(gateway, by, note('Decided late'), key)).status).toBe(200);
    await sql`UPDATE gateway.operation SET created_at = created_at - interval '1 hour' WHERE operation_id = ${id}`;
    await upkeep({ db: gateway.database.db, registry: gateway.corridor.registry });
    expect((await send(gateway, by, note('Decided late'), key)).code).toBe('outcome_unknown');
    expect((await effectsOf(gateway.database, 'Decided late')).notes).toBe(1);
  });

  it('ends as a conflict if the data does not allow it at the approval', async () => {
    const key = freshKey();
    const id = await asked(gateway, by, disposition('nobody configured this'), key);
    expect(await document('approvals', 'approve', id)).toMatchObject({
      status: 'acknowledged',
      failure: 'operation_conflict',
    });
    expect((await send(gateway, by, disposition('nobody configured this'), key)).code).toBe('operation_conflict');
    expect((await auditOf(gateway.database, { operation_id: id, surface: 'cli' })).map(brief)).toMatchObject([
      { outcome: 'operation_conflict', status: 409 },
    ]);
  });

  it('runs at once if the credential names only other operations', async () => {
    const free = await asker(gateway, ['conversation_disposition_set']);
    expect((await send(gateway, free, note('Nobody asked'))).status).toBe(200);
    expect((await send(gateway, free, disposition('resolved'))).status).toBe(202);
  });

  it('is named beforehand: by the capabilities, the context and the explanation', async () => {
    const some = await asker(gateway, ['visitor_note_add']);
    const read = async (path: string) => (await gateway.ask(path, { token: some.token })).body;
    const { operations } = (await read(`/api/v1/capabilities?website_id=${SITE}`)).data;
    const waits = operations.filter((one: { approval_required?: boolean }) => one.approval_required);
    expect(waits.map((one: { operation: string }) => one.operation)).toEqual(['visitor_note_add']);
    expect((await read('/api/v1/context')).approval_required).toEqual(['visitor_note_add']);
    const explained = (await read('/api/v1/access?operations=visitor_note_add,conversation_disposition_set')).data;
    expect(
      explained.operations.map((one: { sentence: string }) => one.sentence.includes('a person has approved')),
    ).toEqual([false, true]);
  });

  it('is bounded at 100 for a credential, and tells the 101st', async () => {
    const many = await asker(gateway);
    const sent = await Promise.all(
      Array.from({ length: 105 }, (_, i) => send(gateway, many, detection(`Sentence ${i}`))),
    );
    const codes = sent.map(({ status, code }) => code ?? status);
    expect(codes.filter((one) => one === 202).length).toBe(100);
    expect(codes.filter((one) => one === 'approval_limit').length).toBe(5);
    const [refusedOne] = sent.filter(({ code }) => code === 'approval_limit');
    expect([refusedOne?.status, refusedOne?.id]).toEqual([429, '']);
    const { answer } = refusedOne ?? expect.fail('nobody was refused');
    expect([answer.headers['retry-after'], answer.body.retry_after]).toEqual(['60', 60]);
    // Others are not affected, and a decision makes room.
    await asked(gateway, by, note('Another credential'));
    await document('approvals', 'reject', sent.find(({ status }) => status === 202)?.id ?? '');
    await asked(gateway, many, detection('There is room again'));
  });
});

it('a decision with keys leaves a record that audit verify accepts', async () => {
  process.env['GATEWAY_KEYS'] = `test:${Buffer.alloc(32, 7).toString('base64')}`;
  try {
    const made: unknown[] = [];
    for (const name of ['approve', 'reject']) {
      const id = await asked(gateway, by, note(`Under the mark: ${name}`));
      await document('approvals', name, id);
      const [record] = await auditOf(gateway.database, { operation_id: id, surface: 'cli' });
      expect(record).toMatchObject({
        operation: `approvals ${name}`,
        request_id: expect.any(String),
        website_id: SITE,
      });
      made.push(record?.['id']);
    }
    await eventually(async () => {
      const sealed = await Promise.all(made.map((id) => auditOf(gateway.database, { id })));
      expect(sealed.flat().map((one) => 'seq' in one)).toEqual([true, true]);
    }, 20_000);
    const { records, findings } = parse((await cli('audit', 'verify', '--json')).stdout);
    expect(records).toBeGreaterThan(2);
    // Other tests of this file decide without keys.
    expect(JSON.stringify(findings)).toContain('without_key');
    for (const id of made) expect(JSON.stringify(findings)).not.toContain(id);
  } finally {
    delete process.env['GATEWAY_KEYS'];
  }
});

describe('the approver', () => {
  it('sees the whole write, and no character of it acts on the terminal', async () => {
    const evil = `first\u001b[2J\n  operation id  op_forged\n\u202etxet\u200f \u3164\u2800\ue000❤\ufe0f ${'😀'.repeat(1_900)}`;
    const id = await asked(gateway, by, note(evil));
    const { code, stdout } = await cli('approvals', 'show', id);
    expect(code).toBe(0);
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(stdout).toContain('| first\u{fffd}[2J');
    expect(stdout).toContain('|   operation id  op_forged');
    expect(stdout).toContain('\u{fffd}\u{fffd}\u{fffd}❤\ufe0f');
    expect(stdout.split('😀').length - 1).toBe(1_900);
    expect(stdout).toMatch(new RegExp(`target +${VISITOR}`));
    expect(stdout).toMatch(new RegExp(`app +test .app_[a-f0-9]+.*${by.credential}|app +test, ${by.credential}`));
    expect(stdout).toContain('interface');
    const listed = await document('approvals', 'list', '--organization', 'larkspur');
    expect(listed).toMatchObject({
      approvals: expect.arrayContaining([
        expect.objectContaining({
          operation_id: id,
          target: VISITOR,
          command: { visitor: '4', text: evil },
          surface: 'rest',
        }),
      ]),
    });
  });

  it('sees the subject of a conversation', async () => {
    const id = await asked(gateway, by, disposition('resolved'));
    const [row] = await gateway.database.sql<{ subject: string | null }[]>`
      SELECT subject FROM platform.conversation WHERE (tenant, site, id) = (1, 1, 2)`;
    expect(await document('approvals', 'show', id)).toMatchObject({ target: CONVERSATION, name: row?.subject ?? null });
  });

  it('is told of an unknown write', async () => {
    expect(await cli('approvals', 'approve', `op_${'0'.repeat(64)}`)).toEqual(refused('There is no write'));
  });
});

describe('credential issue and update', () => {
  it('name the writes, replace the list and free single operations, each a new revision', async () => {
    const { installation } = await demoApp();
    const basic = ['--installation', installation, '--environment', 'test', '--website', SITE, '--scopes', 'all'];
    const issued = await document('credential', 'issue', ...basic, '--approve', 'visitor_note_add,config_plan');
    expect(issued['approve']).toEqual(['config_plan', 'visitor_note_add']);
    const id = text(issued, 'credential_id');
    const replaced = await document(
      'credential',
      'update',
      id,
      '--approve',
      'config_plan',
      '--approve',
      'ai_feature_execute',
    );
    expect(replaced).toMatchObject({ approve: ['ai_feature_execute', 'config_plan'], revision: 2 });
    const freed = await document('credential', 'update', id, '--without-approval', 'config_plan', '--yes');
    expect(freed).toMatchObject({ approve: ['ai_feature_execute'], revision: 3 });
    expect((await auditOf(gateway.database, { surface: 'cli' })).map(({ operation }) => operation)).toEqual(
      expect.arrayContaining(['credential issue', 'credential update']),
    );
  });

  it('refuse what is no write, and a contradiction', async () => {
    const unknown = await cli('credential', 'update', by.credential, '--approve', 'contact_get');
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
    expect(unknown.stderr).toMatch(/^error: option --approve takes .*There is no such write contact_get\.$/m);
    const both = ['--approve', 'config_plan', '--without-approval', 'config_plan'];
    expect(await cli('credential', 'update', by.credential, ...both)).toEqual(refused('contradicts', 2));
  });
});
