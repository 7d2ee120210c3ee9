import postgres from 'postgres';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createChatwoot, populate } from '../../support/chatwoot/populate.ts';
import { type Action, simulate } from '../../support/chatwoot/simulator.ts';
import { freshDatabase, type TestDatabase } from '../../support/database.ts';

let database: TestDatabase;
let sql: postgres.Sql;
beforeAll(async () => {
  database = await freshDatabase();
  const { host, port, name } = database;
  sql = postgres({ host, port, database: name, username: 'postgres', max: 10, onnotice: () => undefined });
  await createChatwoot(sql);
  console.time('pop');
  await populate(sql, {
    conversations: Number(process.env['CONV'] ?? 200),
    messages: Number(process.env['MSG'] ?? 2000),
    seed: 7,
  });
  console.timeEnd('pop');
}, 600_000);
afterAll(async () => {
  await sql.end();
  await database.close();
});

test('sim', async () => {
  const actions: Action[] = [];
  const cpu = process.cpuUsage();
  const out = await simulate(sql, {
    seed: 7,
    seconds: Number(process.env['SECS'] ?? 5),
    rate: 200,
    acted: (a) => actions.push(a),
  });
  const used = process.cpuUsage(cpu);
  console.log(out, (used.user + used.system) / 1e6);
  expect(out.actions).toBe(out.actions);
}, 600_000);
