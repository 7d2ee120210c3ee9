import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { BlockList } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { EXPECTED } from '../../src/config/allowed-values.ts';
import { readConfig } from '../../src/config/config.ts';
import { packageRoot } from '../../src/config/package.ts';
import { environmentOf, fileOf, readCompose, readDockerfile, type Service, stepOf } from '../support/deploy.ts';

/**
 * This machine has no container engine. So the compose file is compared with the settings that docs/high-availability.md
 * gives, and its parts with each other. test/faults/patroni.test.ts runs such a cluster without containers.
 */
const PATH = 'resources/compose/patroni.yaml';
const GIVEN = {
  POSTGRES_PASSWORD: 'superhush',
  DATABASE_PASSWORD: 'hush',
  GATEWAY_KEYS: `1:${Buffer.alloc(32, 1).toString('base64')}`,
};
const { services, networks, volumes } = readCompose(GIVEN, PATH);
const service = (name: string): Service => services[name] ?? expect.fail(`no service ${name}`);
const named = (pattern: RegExp): [string, Service][] => Object.entries(services).filter(([name]) => pattern.test(name));
const addressOf = (name: string, network: string): string =>
  z.record(z.string(), z.object({ ipv4_address: z.string() })).parse(service(name).networks)[network]?.ipv4_address ??
  expect.fail(`${name} has no address in ${network}`);

const image = readDockerfile().at(-1);
const doc = fileOf('docs/high-availability.md');
const Node = z.object({
  etcd3: z.object({ hosts: z.array(z.string()) }),
  restapi: z.object({ listen: z.string() }),
  bootstrap: z.object({ dcs: z.record(z.string(), z.unknown()), post_init: z.string() }),
  postgresql: z.object({ listen: z.string(), data_dir: z.string() }),
});
const node = Node.parse(parse(fileOf('resources/compose/patroni/node.yaml')));
const haproxy = fileOf('resources/compose/patroni/haproxy.cfg');

/** The fenced block of the document that begins with this line. */
const blockOf = (text: string, first: string): string =>
  [...text.matchAll(/^```\w*\n([\s\S]*?)^```$/gm)]
    .map(([, block = '']) => block)
    .find((block) => block.startsWith(first)) ?? expect.fail(`no block ${first}`);
/** The lines of HAProxy's part `primary`, without the addresses of the servers. */
const primaryOf = (config: string): string[] =>
  (/^listen primary\n(?: .*\n)*/m.exec(config)?.[0] ?? '')
    .split('\n')
    .map((line) => line.trim().replace(/^(server \w+) [\d.]+:/, '$1 ADDRESS:'))
    .filter((line) => line !== '');
const serversOf = (part: string): string[][] =>
  [...haproxy.matchAll(/^listen (\w+)\n((?: .*\n)*)/gm)]
    .filter(([, name]) => name === part)
    .flatMap(([, , lines = '']) => [...lines.matchAll(/^ {2}server (\S+) (\S+)/gm)])
    .map(([, name = '', address = '']) => [name, address]);

describe('resources/compose/patroni.yaml', () => {
  it('gives Patroni and HAProxy the settings of the document', () => {
    const told = blockOf(doc, 'ttl:');
    expect(node.bootstrap.dcs).toEqual(parse(told));
    expect(node.bootstrap.dcs).not.toEqual(parse(told.replace('ttl: 20', 'ttl: 30')));
    const lines = primaryOf(blockOf(doc, 'listen primary'));
    expect(lines.length).toBeGreaterThan(10);
    expect(primaryOf(haproxy)).toEqual(lines);
    expect(primaryOf(haproxy.replace(' on-marked-down shutdown-sessions', ''))).not.toEqual(lines);
  });

  it('refuses a Patroni that loses acknowledged writes', () => {
    const made = fileOf('resources/compose/patroni/Dockerfile');
    expect(made).toMatch(/dpkg --compare-versions "\$\(dpkg-query .* patroni\)" ge 3\.0\.3$/m);
    expect(doc).toContain('Use Patroni 3.0.3 or newer');
    expect(service('db1').build?.args['POSTGRES']).toBe(/^ARG POSTGRES=(.*)$/m.exec(made)?.[1]);
  });

  it('has three nodes, three etcd and two gateways, each kind with the same settings', () => {
    expect(Object.keys(services)).toHaveLength(9);
    const patroni = named(/^db\d$/).map(
      ([name, { build, pull_policy, environment, volumes: mounts, networks: _, ...rest }]) => {
        expect(environment).toMatchObject({
          PATRONI_NAME: name,
          PATRONI_RESTAPI_CONNECT_ADDRESS: `${name}:${node.restapi.listen.split(':')[1]}`,
          PATRONI_POSTGRESQL_CONNECT_ADDRESS: `${name}:${node.postgresql.listen.split(':')[1]}`,
          PATRONI_SUPERUSER_PASSWORD: 'superhush',
          PATRONI_REPLICATION_PASSWORD: 'superhush',
          DATABASE_PASSWORD: 'hush',
        });
        expect(mounts[0]).toBe(`${name}:${node.postgresql.data_dir.replace(/\/node$/, '')}`);
        expect([build?.context, pull_policy]).toEqual(
          name === 'db1' ? ['resources/compose/patroni', undefined] : [undefined, 'never'],
        );
        return { rest, mounts: mounts.slice(1) };
      },
    );
    expect(patroni).toHaveLength(3);
    for (const one of patroni) expect(one).toEqual(patroni[0]);
    expect(patroni[0]?.rest).toMatchObject({
      user: 'postgres',
      entrypoint: 'patroni',
      command: ['/etc/patroni/node.yaml'],
    });
    const script = /--file=(\S+)/.exec(node.bootstrap.post_init)?.[1];
    expect(patroni[0]?.mounts).toContain(`./resources/compose/database.sql:${script}:ro`);

    const etcd = named(/^etcd\d$/);
    expect(etcd.map(([name]) => `${name}:2379`)).toEqual(node.etcd3.hosts);
    const peers = etcd.map(([name]) => `${name}=http://${name}:2380`).join();
    for (const [name, { environment, command }] of etcd) {
      expect(environment['ETCD_INITIAL_CLUSTER']).toBe(peers);
      expect(command).toContain(`--name=${name}`);
      expect(command?.join(' ').match(/etcd\d/g)).toEqual([name, name, name]);
    }
  });

  it('leads the gateways to the primary through HAProxy, and clients to the gateways', () => {
    expect(serversOf('primary')).toEqual(named(/^db/).map(([name]) => [name, `${addressOf(name, 'store')}:5432`]));
    const port = environmentOf(image)['PORT'];
    expect(serversOf('gateways')).toEqual(
      named(/^gateway/).map(([name]) => [name, `${addressOf(name, 'front')}:${port}`]),
    );
    for (const header of ['traceparent', 'tracestate'])
      expect(haproxy).toContain(`\n  http-request del-header ${header}\n`);
    // A retry at the gateway that has refused would be refused again.
    expect(haproxy).toContain('\n  option redispatch 1\n');
    const [first, second] = named(/^gateway/).map(([, { environment }]) => environment);
    expect(second).toEqual(first);
    expect(Object.keys(first ?? {}).filter((name) => !(name in EXPECTED))).toEqual([]);
    const { NODE_ENV: _, ...shipped } = environmentOf(image);
    const config = readConfig({ ...shipped, ...first });
    expect(config.databaseUrl).toBe('postgres://gateway:hush@haproxy:5432/gateway');
    expect(first?.['GATEWAY_TRUSTED_PROXIES']).toBe(addressOf('haproxy', 'front'));
    const { port: outside } = new URL(config.baseUrl ?? '');
    expect(service('haproxy').ports).toEqual([`127.0.0.1:${outside}:8420`]);
    expect(stepOf(image, 'EXPOSE')).toBe(port);
  });

  it('asks for the secrets of production.yaml, and publishes nothing to other machines', () => {
    for (const name of Object.keys(GIVEN))
      expect(() => readCompose({ ...GIVEN, [name]: undefined }, PATH)).toThrow(`${name}: see docs/operations.md`);
    for (const [name, one] of Object.entries(services)) {
      expect(one, name).toMatchObject({ read_only: true, cap_drop: ['ALL'], cap_add: [], restart: 'unless-stopped' });
      expect(one.security_opt, name).toEqual(['no-new-privileges:true']);
      expect(one.ports.length === 0 || name === 'haproxy', name).toBe(true);
    }
    expect(networks['store']?.internal).toBe(true);
  });

  it('gives addresses that no other container takes', () => {
    const given = Object.entries(services).flatMap(([name, { networks: of }]) =>
      Array.isArray(of) ? [] : Object.keys(of).map((network) => [network, addressOf(name, network)] as const),
    );
    expect(given).toHaveLength(9);
    expect(new Set(given.map(([, address]) => address)).size).toBe(given.length);
    for (const [network, address] of given) {
      const [{ subnet = '', ip_range: range = '' } = {}] = networks[network]?.ipam?.config ?? [];
      const inside = [subnet, range].map((cidr) => {
        const [base = '', bits] = cidr.split('/');
        const list = new BlockList();
        list.addSubnet(base, Number(bits));
        return list.check(address);
      });
      expect(inside, address).toEqual([true, false]);
    }
  });

  it('waits for what says that it is healthy, mounts what is there', () => {
    for (const [name, { depends_on, volumes: mounts }] of Object.entries(services)) {
      for (const other of Object.keys(depends_on))
        expect(service(other).healthcheck, `${name}: ${other}`).toBeDefined();
      for (const mount of mounts) {
        const [source = ''] = mount.split(':');
        expect(source.startsWith('./') ? existsSync(new URL(source, packageRoot)) : source in volumes, mount).toBe(
          true,
        );
      }
    }
  });

  const checked = spawnSync('haproxy', ['-v'], { env: { PATH: `${process.env['PATH']}:/usr/sbin` } });
  it.runIf(checked.status === 0)('is what HAProxy accepts', () => {
    const { status, stderr } = spawnSync(
      'haproxy',
      ['-c', '-q', '-f', fileURLToPath(new URL('resources/compose/patroni/haproxy.cfg', packageRoot))],
      { env: { PATH: `${process.env['PATH']}:/usr/sbin` }, encoding: 'utf8' },
    );
    expect(status, stderr).toBe(0);
  });
});
