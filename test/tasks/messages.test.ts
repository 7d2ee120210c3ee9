import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Failure } from '../../src/core/failures.ts';
import { MessageIdConflict } from '../../src/tasks/tasks.ts';
import type { Issued } from '../support/credentials.ts';
import { CONTACT, newMessage, openWorld, probe, until, type World } from '../support/tasks.ts';

/**
 * A2-05: one message creates one task, no matter how often and to which replica the message is sent. This file also
 * tests what a task costs.
 */
let world: World;
let sender: Issued;

beforeAll(async () => {
  world = await openWorld();
  sender = await world.issue();
});
afterAll(async () => {
  expect(world.errors).toEqual([]);
  await world.close();
});

describe('A2-05', () => {
  it.each([true, false])('20 parallel sends on two replicas, waiting %s: one task, run once', async (wait) => {
    const { skill, runs, release } = probe();
    const messageId = newMessage();
    const [before] = await world.database.sql`SELECT count(*) AS n FROM gateway.task`;
    const sending = Array.from({ length: 20 }, (_, i) =>
      world.send(i % 2 ? world.a : world.b, sender.token, { messageId, skill, wait }),
    );
    if (wait) await until(() => runs() > 0);
    release();
    const tasks = await Promise.all(sending);
    const id = tasks[0]?.id ?? '';
    expect(new Set(tasks.map((task) => task.id)).size).toBe(1);
    await until(async () => (await world.row(id))?.state === 'completed');
    expect(runs()).toBe(1);
    const [after] = await world.database.sql`SELECT count(*) AS n FROM gateway.task`;
    expect(Number(after?.['n']) - Number(before?.['n'])).toBe(1);
    if (wait) {
      for (const task of tasks) expect([task.state, task.artifact]).toEqual(['completed', tasks[0]?.artifact]);
      expect(tasks[0]?.artifact).toMatchObject({ data: { contact: { id: CONTACT } } });
    } else expect(new Set(tasks.map(({ state }) => state)).has('submitted')).toBe(true);
    for (const replica of [world.a, world.b]) {
      expect(await world.send(replica, sender.token, { messageId, skill })).toMatchObject({ id, state: 'completed' });
    }
    expect(runs()).toBe(1);
  });

  it('order of members does not matter; other arguments or another skill are a conflict', async () => {
    const messageId = newMessage();
    const skill = world.skill('configuration_inspection');
    const input = { website_id: 'web_1_1', path: '/ai/features', limit: 2 };
    const first = await world.send(world.a, sender.token, { messageId, skill, input });
    expect(first).toMatchObject({ state: 'completed', skill: 'configuration_inspection', websiteId: 'web_1_1' });
    const turned = { limit: 2, path: '/ai/features', website_id: 'web_1_1' };
    expect((await world.send(world.b, sender.token, { messageId, skill, input: turned })).id).toBe(first.id);
    for (const other of [
      { skill, input: { ...input, limit: 3 } },
      { skill, input: { website_id: 'web_1_1', path: '/ai/features' } },
      { skill: world.skill('support_insights'), input },
    ]) {
      await expect(world.send(world.b, sender.token, { messageId, ...other })).rejects.toThrow(MessageIdConflict);
    }
    expect(await world.row(first.id)).toMatchObject({ state: 'completed' });
  });

  it('another credential’s messageId is another message', async () => {
    const other = await world.issue({ app: sender.app });
    const messageId = newMessage();
    const mine = await world.send(world.a, sender.token, { messageId });
    const theirs = await world.send(world.b, other.token, { messageId, input: { contact_id: 'ctc_1_1_2' } });
    expect(theirs.id).not.toBe(mine.id);
    expect(theirs.artifact).toMatchObject({ data: { contact: { id: 'ctc_1_1_2' } } });
  });

  it('a message whose task has expired makes a new one', async () => {
    const messageId = newMessage();
    const first = await world.send(world.a, sender.token, { messageId });
    await expire(first.id);
    expect(await world.get(world.a, sender.token, first.id)).toBeUndefined();
    const second = await world.send(world.b, sender.token, { messageId });
    expect(second.id).not.toBe(first.id);
    expect(await world.row(first.id)).toBeUndefined();
  });

  it('a context is kept as given, and made where none is', async () => {
    const contextId = ` "odd" ~ context ${'x'.repeat(100)}`;
    expect(await world.send(world.a, sender.token, { contextId })).toMatchObject({ contextId });
    const made = await world.send(world.a, sender.token);
    expect(made.contextId).toMatch(/^ctx_[a-f0-9]{32}$/);
    expect(made.expiresAt.getTime() - made.stateAt.getTime()).toBeGreaterThan(14 * 60_000);
    expect(made.expiresAt.getTime() - made.stateAt.getTime()).toBeLessThanOrEqual(15 * 60_000);
  });

  it('a task ends with its sender’s credential, and not with the token', async () => {
    const short = await world.issue({ expires: '2 minutes' });
    const task = await world.send(world.a, short.token);
    expect(task.expiresAt.getTime() - task.stateAt.getTime()).toBeLessThanOrEqual(120_000);
    await world.database.sql`UPDATE gateway.token SET expires_at = now() + interval '1 minute'
      WHERE credential_id = ${short.credential}`;
    const second = await world.send(world.a, short.token);
    expect(second.expiresAt.getTime() - second.stateAt.getTime()).toBeGreaterThan(100_000);
  });
});

/** Moves the expiry of a task into the past. The trigger is switched off, because it forbids this change. */
async function expire(id: string): Promise<void> {
  const { sql } = world.database;
  await sql`ALTER TABLE gateway.task DISABLE TRIGGER task_ended`;
  await sql`UPDATE gateway.task SET expires_at = now() - interval '1 second' WHERE id = ${id}`;
  await sql`ALTER TABLE gateway.task ENABLE TRIGGER task_ended`;
}

describe('RL-02 what a task costs', () => {
  it('one unit a request and one a new task, also of the report; a resent message costs its request alone', async () => {
    // The app gets only one unit a minute, so no unit comes back during the test.
    const poor = await world.issue({ perMinute: 1, burst: 6 });
    const replica = await world.open();
    const input = { website_id: 'web_1_1', range: 'last-7-days' };
    const skill = world.skill('support_insights');
    const messageId = newMessage();
    const send = () => world.send(replica, poor.token, { messageId, skill, input });
    const spent = async (): Promise<number> => {
      const authority = await replica.corridor.prove(poor.token, 'a2a', undefined);
      return 6 - (replica.corridor.quotaOf(authority)?.remaining ?? 0);
    };
    const first = await send();
    expect([first.state, first.failure]).toEqual(['completed', null]);
    expect(await spent()).toBe(2);
    expect((await send()).id).toBe(first.id);
    expect(await spent()).toBe(3);
    await expect(world.send(replica, poor.token, { messageId })).rejects.toThrow(MessageIdConflict);
    expect(await spent()).toBe(4);
    await world.cancel(replica, poor.token, first.id);
    expect(await spent()).toBe(5);
    // One unit is left. This unit pays for a request but not for a new task. The refused request must leave no trace.
    const before = await world.count('completed', poor.installation);
    const next = newMessage();
    await expect(world.send(replica, poor.token, { messageId: next })).rejects.toMatchObject({
      code: 'quota_exceeded',
      details: { retryAfter: expect.any(Number) },
    });
    expect(await world.count('completed', poor.installation)).toBe(before);
    await replica.close();
  });

  it('with the last unit a known message is still found', async () => {
    const poor = await world.issue({ perMinute: 1, burst: 3 });
    const replica = await world.open();
    const messageId = newMessage();
    const first = await world.send(replica, poor.token, { messageId });
    const again = await world.send(replica, poor.token, { messageId });
    expect(again).toEqual(first);
    expect(again.artifact).toMatchObject({ data: { contact: { id: CONTACT } } });
    await expect(replica.corridor.admit(poor.token, 'a2a')).rejects.toThrow(Failure);
    await replica.close();
  });

  it('RL-02 an app of one unit at once has its task for that unit', async () => {
    const poor = await world.issue({ perMinute: 60, burst: 1 });
    const replica = await world.open();
    expect(await world.send(replica, poor.token)).toMatchObject({ state: 'completed' });
    const refused = await world.send(replica, poor.token).catch(({ details }) => details.retryAfter);
    expect(refused).toBe(1);
    await pause(1_000 * refused);
    expect(await world.send(replica, poor.token)).toMatchObject({ state: 'completed' });
    await replica.close();
  });

  it('a known message needs no room for its arguments', async () => {
    const own = await world.issue();
    const replica = await world.open(undefined, { held: 1 });
    const { skill, release, held } = probe();
    const messageId = newMessage();
    const first = await world.send(replica, own.token, { skill, messageId, wait: false });
    await until(() => held() === 1);
    await expect(world.send(replica, own.token)).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await world.send(replica, own.token, { skill, messageId, wait: false })).toMatchObject({ id: first.id });
    release();
    await until(async () => (await world.send(replica, own.token, { skill, messageId })).state === 'completed');
    expect(await world.send(replica, own.token)).toMatchObject({ state: 'completed' });
    await replica.close();
  });
});
