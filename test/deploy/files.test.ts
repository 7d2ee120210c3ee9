import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { BlockList } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EXPECTED } from '../../src/config/allowed-values.ts';
import { readConfig } from '../../src/config/config.ts';
import { packageRoot } from '../../src/config/package.ts';
import {
  argumentsOf,
  databaseStatements,
  environmentOf,
  exec,
  fileOf,
  gatewaysOf,
  labelsOf,
  readCompose,
  readDockerfile,
  type Service,
  stepOf,
} from '../support/deploy.ts';
import { CERTIFICATE, KEY } from '../support/events/certificate.ts';

const GIVEN = {
  POSTGRES_PASSWORD: 'superhush',
  DATABASE_PASSWORD: 'hush',
  GATEWAY_KEYS: `1:${Buffer.alloc(32, 1).toString('base64')}`,
};
const there = (path: string): boolean => existsSync(new URL(path, packageRoot));
const { services, networks, volumes } = readCompose(GIVEN);
const gateways = gatewaysOf(services);
const service = (name: string): Service => services[name] ?? expect.fail(`no service ${name}`);
const [build, packages, image] = readDockerfile();
const caddyfile = fileOf('resources/compose/Caddyfile');

describe('Dockerfile', () => {
  it('ships neither what builds it nor what tests it, and runs as nobody of importance', () => {
    expect(readDockerfile()).toHaveLength(3);
    expect(packages?.steps.find(([name]) => name === 'RUN')?.[1]).toMatch(/^npm ci --omit=dev \$EMBEDDED /);
    expect(image?.steps).toContainEqual(['COPY', `--from=${packages?.name} /app/node_modules node_modules`]);
    expect(image?.steps).toContainEqual(['COPY', `--from=${build?.name} /image ./`]);
    expect(packages && argumentsOf(packages)).toEqual({ EMBEDDED: '--omit=optional' });
    // The number of the user `node`. Kubernetes cannot see that a name is not root.
    expect(stepOf(image, 'USER')).toBe('1000:1000');
    expect(image?.from).toBe(build?.from);
    const { engines } = JSON.parse(fileOf('package.json'));
    // package.json names the oldest Node release that works. The image may use a newer release, because the oldest
    // release is perhaps no longer maintained.
    // Node 24 is the reference.
    expect(image?.from).toMatch(/^node:24-/);
    const [oldest] = /\d+/.exec(engines.node) ?? [];
    for (const from of [image?.from, packages?.from, build?.from, `${service('receiver').image} AS`])
      expect(Number(/^node:(\d+)-bookworm-slim\b/.exec(from ?? '')?.[1])).toBeGreaterThanOrEqual(Number(oldest));
  });

  it('has the labels of OCI, with the version of the package', () => {
    const { version, description, license } = JSON.parse(fileOf('package.json'));
    expect(labelsOf(image)).toEqual({
      'org.opencontainers.image.title': 'Installation Gateway',
      'org.opencontainers.image.description': description,
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': license,
      'org.opencontainers.image.base.name': `docker.io/library/${image?.from}`,
    });
  });

  it('runs what package.json calls the gateway, with settings that exist', () => {
    const { bin } = JSON.parse(fileOf('package.json'));
    expect(exec(stepOf(image, 'ENTRYPOINT'))).toEqual(['node', bin.gateway]);
    expect(exec(stepOf(image, 'CMD'))).toEqual(['serve']);
    const { NODE_ENV, ...settings } = environmentOf(image);
    expect(NODE_ENV).toBe('production');
    expect(Object.keys(settings).filter((name) => !(name in EXPECTED))).toEqual([]);
    expect(stepOf(image, 'EXPOSE')).toBe(settings['PORT']);
  });

  it('is healthy where /readyz says so, over HTTP or TLS, and needs no program but node to ask', async () => {
    const [, options = '', command = ''] = /^(.*) CMD (\[.*\])$/.exec(stepOf(image, 'HEALTHCHECK')) ?? [];
    expect(options).toMatch(/--interval=\d+s --timeout=\d+s --start-period=\d+s --retries=\d+/);
    const [program = '', ...script] = exec(command);
    expect(program).toBe('node');
    let status = 200;
    const answer: RequestListener = (request, response) => {
      response.writeHead(request.url === '/readyz' ? status : 404).end();
    };
    for (const [server, more] of [
      [createServer(answer), {}],
      [createTlsServer({ key: KEY, cert: CERTIFICATE }, answer), { GATEWAY_TLS_CERT: '/run/cert.pem' }],
    ] as const) {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const address = server.address();
      const port = typeof address === 'object' && address ? address.port : 0;
      const ask = async (): Promise<unknown> => {
        const env = { PATH: process.env['PATH'], ...environmentOf(image), PORT: `${port}`, ...more };
        const [code] = await once(spawn(program, script, { env }), 'close');
        return code;
      };
      status = 200;
      expect(await ask()).toBe(0);
      status = 503;
      expect(await ask()).toBe(1);
      server.close();
      await once(server, 'close');
      expect(await ask()).toBe(1);
    }
  });

  it('gets what it copies: nothing that is ignored, nothing that is missing', () => {
    const kept = [...fileOf('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path = '']) => path);
    expect(kept.filter((path) => !there(path))).toEqual([]);
    const copied = (build?.steps ?? [])
      .filter(([name]) => name === 'COPY')
      .flatMap(([, rest]) => rest.split(' ').slice(0, -1));
    expect(copied.filter((path) => path !== '.' && !kept.includes(path))).toEqual([]);
    // The build context must contain the files that npm packs, except dist/, which the build creates.
    const { files }: { files: string[] } = JSON.parse(fileOf('package.json'));
    const needed = files.filter((path) => !/^!?dist\//.test(path));
    expect(needed.length).toBeGreaterThan(5);
    const missing = needed.filter((path) => !kept.some((one) => path.startsWith(one)));
    expect(missing).toEqual([]);
    // The build context must also contain the sources that the compiler reads, but no tests.
    const { include } = JSON.parse(fileOf('tsconfig.json'));
    expect(include.filter((path: string) => path !== 'test' && !kept.includes(path))).toEqual([]);
  });

  it('is fed from what git knows', () => {
    const root = fileURLToPath(packageRoot);
    const ignored = execFileSync('git', ['ls-files', '.env', '*.pem'], { cwd: root, encoding: 'utf8' });
    expect(ignored).toBe('');
  });
});

describe('compose.yaml', () => {
  const trial = readCompose({}, 'compose.yaml');
  const [[, only] = expect.fail('no gateway'), ...more] = gatewaysOf(trial.services);

  it('needs no settings, and starts one gateway with the embedded PostgreSQL and its demo', () => {
    expect(more).toEqual([]);
    expect(Object.keys(trial.services)).toEqual(['gateway']);
    expect(only.build?.args).toEqual({ EMBEDDED: '--include=optional' });
    expect(packages && Object.keys(argumentsOf(packages))).toEqual(Object.keys(only.build?.args ?? {}));
    expect(Object.keys(only.environment).filter((name) => !(name in EXPECTED))).toEqual([]);
    const { NODE_ENV: _, ...shipped } = environmentOf(image);
    const config = readConfig({ ...shipped, ...only.environment });
    expect([config.databaseUrl, config.dataDir]).toEqual([undefined, '/data']);
    const { port } = new URL(config.baseUrl ?? '');
    expect(only.ports).toEqual([`127.0.0.1:${port}:${stepOf(image, 'EXPOSE')}`]);
    expect(only.command).toBeUndefined();
  });

  it('is locked down, and writes only to memory that its user owns', () => {
    const [user] = stepOf(image, 'USER').split(':');
    expect(only).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      cap_add: [],
      security_opt: ['no-new-privileges:true'],
      volumes: [],
      tmpfs: [`/data:uid=${user},gid=${user},mode=0700`],
      init: true,
    });
  });
});

describe('resources/compose/chatwoot.yaml', () => {
  const given = { CHATWOOT_SECRET: 'rails', CHATWOOT_PASSWORD: 'theirs', ...GIVEN };
  const trial = readCompose(given, 'resources/compose/chatwoot.yaml');
  const [[name, only] = expect.fail('no gateway'), ...more] = gatewaysOf(trial.services);

  it('needs each secret, and publishes no database', () => {
    for (const secret of ['CHATWOOT_SECRET', 'CHATWOOT_PASSWORD', 'DATABASE_PASSWORD', 'GATEWAY_KEYS']) {
      const others = Object.fromEntries(Object.entries(given).filter(([one]) => one !== secret));
      expect(() => readCompose(others, 'resources/compose/chatwoot.yaml')).toThrow(secret);
    }
    const published = Object.entries(trial.services).filter(([, { ports }]) => ports.length > 0);
    expect(published.map(([one]) => one)).toEqual(['chatwoot', 'gateway']);
    for (const [, { ports }] of published) for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it('has two PostgreSQL servers, and only the gateway reaches both', () => {
    expect(more).toEqual([]);
    const reach = Object.entries(trial.services).map(([one, { networks: nets }]) => [one, nets]);
    expect(Object.fromEntries(reach)).toMatchObject({
      [name]: ['store', 'chatwoot'],
      postgres: ['store'],
      'chatwoot-postgres': ['chatwoot'],
      chatwoot: ['chatwoot'],
      'chatwoot-jobs': ['chatwoot'],
    });
    const { NODE_ENV: _, ...shipped } = environmentOf(image);
    const config = readConfig({ ...shipped, ...only.environment });
    expect(config.databaseUrl).toContain('@postgres:5432/gateway');
    expect(trial.services['postgres']?.volumes.join()).toContain('database.sql');
    for (const { networks: nets } of Object.values(trial.services))
      for (const net of Array.isArray(nets) ? nets : []) expect(Object.keys(trial.networks)).toContain(net);
  });
});

describe('resources/compose/production.yaml', () => {
  it('asks for its secrets', () => {
    expect(() => readCompose({})).toThrow(/: see docs\/operations.md$/);
    for (const name of Object.keys(GIVEN))
      expect(() => readCompose({ ...GIVEN, [name]: undefined })).toThrow(new RegExp(`^${name}: see docs/operations`));
    const secrets = fileOf('docs/operations.md')
      .match(/printf '(.*)' .* > \.env/)?.[1]
      ?.match(/[A-Z_]+(?==)/g);
    expect(secrets?.toSorted()).toEqual(Object.keys(GIVEN).toSorted());
  });

  it('its secrets are made once, and readable to nobody else', () => {
    const [line = ''] = /^\[ -e \.env \] .*$/m.exec(fileOf('docs/operations.md')) ?? [];
    const folder = mkdtempSync(join(tmpdir(), 'gateway-env-'));
    const make = (value: string): string => {
      execFileSync('sh', ['-c', `umask 022; openssl() { echo ${value}; }; ${line}`], { cwd: folder });
      return readFileSync(join(folder, '.env'), 'utf8');
    };
    expect(make('first')).toBe('POSTGRES_PASSWORD=first\nDATABASE_PASSWORD=first\nGATEWAY_KEYS=1:first\n');
    expect(statSync(join(folder, '.env')).mode & 0o777).toBe(0o600);
    expect(make('second')).toContain('=first\n');
    rmSync(folder, { recursive: true });
  });

  it('has two gateways with the same settings, all of which exist and are accepted', () => {
    expect(gateways).toHaveLength(2);
    const [first, second] = gateways.map(([, { build: own, pull_policy, ...rest }]) => ({
      built: [own, pull_policy],
      rest,
    }));
    expect([first?.built, second?.built]).toEqual([
      [{ context: '.', args: { NODE: image?.from } }, undefined],
      [undefined, 'never'],
    ]);
    expect(second?.rest).toEqual(first?.rest);
    for (const [, { environment }] of gateways) {
      expect(Object.keys(environment).filter((name) => !(name in EXPECTED))).toEqual([]);
      const { NODE_ENV: _, ...shipped } = environmentOf(image);
      const config = readConfig({ ...shipped, ...environment });
      const { hostname, port, username, password, pathname } = new URL(config.databaseUrl ?? '');
      expect([hostname, port, username, password, pathname]).toEqual([
        'postgres',
        '5432',
        'gateway',
        'hush',
        '/gateway',
      ]);
      expect([...config.webhooks.allowed]).toEqual([`http://receiver:${service('receiver').environment['PORT']}`]);
      // The settings give the key and the address of the store. A gateway therefore writes no key file and no data
      // folder to its disk.
      expect([config.keys?.length, config.host]).toEqual([1, '0.0.0.0']);
    }
  });

  it('the gateway owns its database, and is not PostgreSQL’s superuser', () => {
    const { environment, volumes: mounts, user } = service('postgres');
    expect(environment).toEqual({ POSTGRES_PASSWORD: 'superhush', DATABASE_PASSWORD: 'hush' });
    expect(mounts).toContain('./resources/compose/database.sql:/docker-entrypoint-initdb.d/database.sql:ro');
    expect(user).toBe('postgres');
    expect(databaseStatements('hush')).toEqual([
      "CREATE ROLE gateway LOGIN PASSWORD 'hush'",
      'CREATE DATABASE gateway OWNER gateway',
    ]);
  });

  it('believes the proxy about addresses and nobody else, and parts what need not meet', () => {
    const [{ subnet = '', ip_range: range = '' } = {}] = networks['front']?.ipam?.config ?? [];
    const inside = (cidr: string, address: string): boolean => {
      const [network = '', bits] = cidr.split('/');
      const list = new BlockList();
      list.addSubnet(network, Number(bits));
      return list.check(address);
    };
    const { front } = z.record(z.string(), z.object({ ipv4_address: z.string() })).parse(service('proxy').networks);
    const address = front?.ipv4_address ?? '';
    expect(gateways[0]?.[1].environment['GATEWAY_TRUSTED_PROXIES']).toBe(address);
    // The fixed address of the proxy must lie outside the range of dynamic addresses. Otherwise a container that starts
    // earlier could get this address.
    expect([inside(subnet, address), inside(range, address)]).toEqual([true, false]);
    const members = Object.fromEntries(
      Object.entries(services).map(([name, one]) => [
        name,
        Array.isArray(one.networks) ? one.networks : Object.keys(one.networks),
      ]),
    );
    expect(members).toEqual({
      postgres: ['store'],
      'gateway-1': ['front', 'store', 'hooks'],
      'gateway-2': ['front', 'store', 'hooks'],
      proxy: ['front'],
      receiver: ['hooks'],
    });
    expect(Object.keys(networks).toSorted()).toEqual(['front', 'hooks', 'store']);
    expect(networks['store']?.internal).toBe(true);
  });

  it('everything is locked down, published to this machine only, and gateways end in their own time', () => {
    for (const [name, one] of Object.entries(services)) {
      expect(one, name).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        cap_add: name === 'proxy' ? ['NET_BIND_SERVICE'] : [],
        security_opt: ['no-new-privileges:true'],
      });
      for (const port of one.ports) expect(port, name).toMatch(/^127\.0\.0\.1:/);
    }
    for (const [, one] of gateways) {
      expect(one).toMatchObject({ command: ['serve'], init: true, stop_grace_period: '15s', volumes: [], tmpfs: [] });
    }
  });

  it('waits for what says that it is healthy, mounts what is there', () => {
    for (const [name, { depends_on, volumes: mounts }] of Object.entries(services)) {
      for (const other of Object.keys(depends_on)) {
        const healthy = service(other).healthcheck !== undefined || gateways.some(([name]) => name === other);
        expect(healthy, `${name} waits for ${other}`).toBe(true);
      }
      for (const mount of mounts) {
        const [source = ''] = mount.split(':');
        expect(source.startsWith('./') ? there(source) : source in volumes, mount).toBe(true);
      }
    }
  });

  it('publishes the address that the gateways call theirs, and the proxy sends there', () => {
    const base = gateways[0]?.[1].environment['GATEWAY_BASE_URL'] ?? '';
    const { port, protocol } = new URL(base);
    expect(protocol).toBe('https:');
    expect(service('proxy').ports).toEqual([`127.0.0.1:${port}:${port}`]);
    expect(caddyfile).toContain(`\n${base} {\n\ttls internal\n`);
    const upstreams = gateways.map(([name]) => `${name}:${environmentOf(image)['PORT']}`).join(' ');
    expect(caddyfile).toContain(`reverse_proxy {$GATEWAYS:${upstreams}} {`);
    expect(caddyfile).toContain('health_uri /readyz');
    // The gateways trust these headers when they come from the proxy. Caddy would forward the headers that a client
    // sends, so the configuration must remove them.
    for (const name of ['traceparent', 'tracestate']) expect(caddyfile).toContain(`\n\t\theader_up -${name}\n`);
    const [receiver = ''] = service('receiver').ports;
    const inside = service('receiver').environment['PORT'];
    expect(receiver).toBe(`127.0.0.1:${inside}:${inside}`);
  });
});

it('each PostgreSQL of the compose files has the shared memory that parallel queries need', () => {
  const { gateway } = readCompose({}, 'compose.yaml').services;
  const given = { CHATWOOT_SECRET: 'rails', CHATWOOT_PASSWORD: 'theirs', ...GIVEN };
  const found = ['production', 'patroni', 'chatwoot'].flatMap((name) =>
    Object.entries(readCompose(given, `resources/compose/${name}.yaml`).services)
      .filter(([, { volumes: mounts }]) => mounts.some((mount) => mount.endsWith(':/var/lib/postgresql/data')))
      .map(([one, { shm_size: size }]) => `${name} ${one} ${size}`),
  );
  expect(found).toEqual(
    [
      'production postgres',
      'patroni db1',
      'patroni db2',
      'patroni db3',
      'chatwoot chatwoot-postgres',
      'chatwoot postgres',
    ].map((one) => `${one} ${gateway?.shm_size}`),
  );
  expect(gateway?.shm_size).toBe('256mb');
});
