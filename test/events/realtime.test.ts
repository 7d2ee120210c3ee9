import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { connected, holder, plantWebsites } from './realtime.support.ts';
import { append, create, definition } from './subscriptions.support.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await openTestGateway('empty');
  await plantWebsites(gateway.database.sql, 60);
});
afterAll(() => gateway.close());

describe('a stream', () => {
  it('gives pages as a pull does, one at a time, each once its predecessor is acknowledged', async () => {
    const { token } = await holder(gateway);
    const { sql } = gateway.database;
    const { id } = await create(gateway, token, definition(['web_1_1']));
    const client = await connected(gateway, token);
    const attached = await client.attach(id);
    expect(attached).toMatchObject({ id: 'a', subscription_id: id, revision: 1 });
    await append(sql, 'web_1_1', ['visitor.changed', 'queue.changed']);
    const page = await client.next('page');
    expect(page.events.map(({ event_type }: { event_type: string }) => event_type)).toEqual([
      'visitor.changed',
      'queue.changed',
    ]);
    client.ack(page);
    expect(await client.next('acked')).toEqual({ type: 'acked', subscription_id: id, cursor: page.next_cursor });
    await append(sql, 'web_1_1', ['privacy.removed']);
    expect((await client.next('page')).events).toHaveLength(1);
    client.end();
  });
});
