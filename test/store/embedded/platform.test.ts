import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, vi } from 'vitest';

import { lockByOpening } from '../../../src/store/embedded/locks.ts';
import { darwin, linux, platformHere, windows } from '../../../src/store/embedded/platform.ts';
import { StoreUnavailable } from '../../../src/store/embedded/unavailable.ts';
import {
  Bench,
  type Child,
  isReady,
  isRoot,
  nobody,
  postmasterPid,
  query,
  running,
  until,
} from '../../support/embedded.ts';
import { itOnce as it, itInFull } from '../../support/form.ts';

let bench: Bench;

beforeAll(() => {
  bench = new Bench();
});

afterEach(() => bench.clean());

afterAll(() => bench.remove());

// The ways of macOS and Windows do not run as root.
const user = isRoot ? nobody : undefined;

/** A data folder of the user that runs the child. Its name has spaces. */
function folder(...below: string[]): string {
  const dataDir = bench.dataDir('my data', ...below);
  mkdirSync(dirname(dataDir), { recursive: true });
  for (let path = dirname(dataDir); isRoot && path !== bench.data; path = dirname(path)) chownSync(path, nobody.uid, 0);
  return dataDir;
}

const open = (ways: 'darwin' | 'windows', dataDir: string): Promise<Child> =>
  bench.start(dataDir, { ways, ...(user && { user }) });

function asked(child: Child, text: string): ReturnType<typeof query> {
  const { host = '', port = 0, password, refused } = child.said;
  expect(refused).toBeUndefined();
  return query({ host, port, password }, text);
}

describe.each(['darwin', 'windows'] as const)('the ways of %s', (ways) => {
  it('make a database, share one server, keep the data over a restart, and leave nothing running', async () => {
    const dataDir = folder();
    const [first, second] = await Promise.all([open(ways, dataDir), open(ways, dataDir)]);
    expect([first, second].map(({ said }) => said.adopted ?? said.refused).sort()).toEqual([false, true]);
    expect(await asked(first, 'create table kept as select 1 as one')).toEqual([]);
    expect(await asked(second, "select one, 'Z' < 'a' as bytewise, lower('ÄÖ') as low from kept")).toEqual([
      { one: 1, bytewise: true, low: 'äö' },
    ]);
    const listening = await asked(first, "select current_setting('listen_addresses') as address");
    expect(listening).toEqual([{ address: ways === 'windows' ? '127.0.0.1' : '' }]);
    if (ways === 'windows') await asksForPassword(dataDir, first);
    const pid = postmasterPid(dataDir);
    await first.stop();
    expect(running(pid)).toBe(true);
    await second.stop();
    expect(running(pid)).toBe(false);
    const again = await open(ways, dataDir);
    expect(await asked(again, 'select one from kept')).toEqual([{ one: 1 }]);
  });

  itInFull(
    'adopt a server, start a killed server again at its address, and trust no stale postmaster.pid',
    async () => {
      const dataDir = folder();
      const killed = await open(ways, dataDir);
      killed.process.kill('SIGKILL');
      await once(killed.process, 'exit');
      const pid = postmasterPid(dataDir);
      const next = await open(ways, dataDir);
      expect(next.said).toMatchObject({ adopted: true, host: killed.said.host, port: killed.said.port });
      expect(postmasterPid(dataDir)).toBe(pid);
      if (pid === undefined) throw new Error('no postmaster');
      process.kill(pid, 'SIGKILL');
      await until(() => !running(pid) && isReady(dataDir));
      expect(await asked(next, 'select 1 as one')).toEqual([{ one: 1 }]);
      await next.stop();

      // With the ways of Windows, pg_ctl must say that no process has this id.
      const stale = ways === 'darwin' ? bench.sleeper(lstatSync(dataDir).uid) : 2 ** 22 - 1;
      writeFileSync(join(dataDir, 'postgres/postmaster.pid'), `${stale}\n/elsewhere\n1\n5432\n.\n\n 1 1\nready   \n`);
      const child = await open(ways, dataDir);
      expect(child.said).toMatchObject({ adopted: false });
      await child.stop();

      writeFileSync(join(dataDir, 'postgres/postgresql.conf'), "work_mem = 'more'\n");
      expect((await open(ways, dataDir)).said.refused).toMatch(
        /did not start \(configuration file .* contains errors\)/,
      );
    },
  );
});

async function asksForPassword(dataDir: string, { said }: Child): Promise<void> {
  const { host = '', port = 0, password } = said;
  for (const wrong of ['', 'x', password?.slice(1)]) {
    await expect(query({ host, port, password: wrong }, 'select 1')).rejects.toThrow(/password/i);
  }
  for (const name of ['postgres.password', 'postgres.log']) {
    expect(lstatSync(join(dataDir, name)).mode & 0o777).toBe(0o600);
  }
  expect(readdirSync(join(dataDir, 'postgres')).filter((name) => name.startsWith('.s.PGSQL'))).toEqual([]);
}

itInFull(
  'macOS reaches a socket with a long path through a link in a private folder, and removes the link',
  async () => {
    chmodSync(bench.temporary(), 0o777);
    const dataDir = folder('d'.repeat(120));
    const child = await open('darwin', dataDir);
    const { host = '' } = child.said;
    expect(Buffer.byteLength(host)).toBeLessThan(90);
    expect(lstatSync(dirname(host)).mode & 0o777).toBe(0o700);
    expect(await asked(child, 'select 1 as one')).toEqual([{ one: 1 }]);
    await child.stop();
    expect(existsSync(dirname(host))).toBe(false);
  },
);

describe('locks by opening', () => {
  const busy = (code: string): Error => Object.assign(new Error('busy'), { code });

  it.each(['EAGAIN', 'EBUSY'])('wait for a lock that answers %s, and give up in time', async (code) => {
    let tries = 0;
    const thirdTime = (): number => {
      tries += 1;
      if (tries < 3) throw busy(code);
      return 1_000_000;
    };
    expect((await lockByOpening('lock', 0, 5, thirdTime))?.fd).toBe(1_000_000);
    expect(tries).toBe(3);
    const never = (): number => {
      throw busy(code);
    };
    expect(await lockByOpening('lock', 0, 0, never)).toBeUndefined();
    expect(await lockByOpening('lock', 0, 0.1, never)).toBeUndefined();
  });

  it('say what is wrong with the folder', async () => {
    await expect(lockByOpening('/nowhere/lock', 0, 5)).rejects.toThrow(/cannot be opened \(ENOENT\).*GATEWAY_DATA_DIR/);
  });
});

it('the platform is the one of the process, and another platform gets a sentence', () => {
  const found = (name: string): unknown => {
    vi.spyOn(process, 'platform', 'get').mockReturnValue(name as NodeJS.Platform); // also names that Node does not know
    try {
      return platformHere();
    } finally {
      vi.restoreAllMocks();
    }
  };
  expect([found('linux'), found('darwin'), found('win32')]).toEqual([linux, darwin, windows]);
  expect(() => found('aix')).toThrow(StoreUnavailable);
});
