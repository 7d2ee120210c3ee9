import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { eventId } from '../../src/events/receipts.ts';
import { openLedgerKey } from '../../src/store/ledger.ts';
import { issue } from '../support/credentials.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import {
  addEndpoint,
  log,
  openReceiver,
  type Receiver,
  type Running,
  run,
  tell,
  until,
  verified,
} from './webhooks.support.ts';

let database: TestDatabase;
let credential: string;
let receiver: Receiver;
let running: Running | undefined;
beforeAll(async () => {
  database = await freshDatabase('demo');
});
afterAll(() => database.close());
beforeEach(async () => {
  credential = (await issue(database.sql, 1)).credential;
  receiver = await openReceiver();
});
afterEach(async () => {
  await running?.stop();
  expect(running?.errors ?? []).toEqual([]);
  running = undefined;
  await receiver.close();
  await database.sql`DELETE FROM gateway.webhook_endpoint`;
});

it('WH-01 a receipt becomes a signed delivery', async () => {
  const { id, secret } = await addEndpoint(database, credential, receiver.url);
  running = run(database, [receiver]);
  await tell(database, 3);
  await until(() => receiver.got.length === 3);
  await until(async () => (await log(database, id)).every(({ status }) => status === 'delivered'));
  const key = await openLedgerKey(database.db)();
  for (const got of receiver.got) {
    const body = JSON.parse(got.bytes.toString());
    expect(verified(secret, got)).toBe(true);
    expect(got.id).toBe(eventId(key, 'web_1_1', body.data.cursor));
  }
});
