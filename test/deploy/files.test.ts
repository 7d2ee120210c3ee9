import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { BlockList, isIPv4 } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { EXPECTED, readConfig } from '../../src/config.ts';
import { packageRoot } from '../../src/package.ts';
import { environmentOf, exec, fileOf, readCompose, readDockerfile, type Service, stepOf } from './files.ts';

/** What a deployment is started with names things that exist, and its parts agree with one another. */
const GIVEN = { POSTGRES_PASSWORD: 'hush', GATEWAY_KEYS: `1:${Buffer.alloc(32, 1).toString('base64')}` };
const there = (path: string): boolean => existsSync(new URL(path, packageRoot));
const { services, networks, volumes } = readCompose(GIVEN);
const gateways = Object.entries(services).filter(([, { build }]) => build === '.');
const service = (name: string): Service => services[name] ?? expect.fail(`no service ${name}`);
const [build, packages, image] = readDockerfile();
const caddyfile = fileOf('resources/compose/Caddyfile');

describe('Dockerfile', () => {
  it('ships neither what builds it nor what tests it, and runs as nobody of importance', () => {
    expect(readDockerfile()).toHaveLength(3);
    expect(stepOf(packages, 'RUN')).toMatch(/^npm ci --omit=dev --omit=optional /);
    expect(image?.steps).toContainEqual(['COPY', `--from=${packages?.name} /app/node_modules node_modules`]);
    expect(image?.steps).toContainEqual(['COPY', `--from=${build?.name} /image ./`]);
    expect(stepOf(image, 'USER')).toBe('node');
    expect(image?.from).toBe(build?.from);
    const { engines } = JSON.parse(fileOf('package.json'));
    expect(image?.from).toContain(`node:${/\d+/.exec(engines.node)?.[0]}-`);
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

  it('is healthy where /readyz says so, and needs no program but node to ask', () => {
    const [, options = '', command = ''] = /^(.*) CMD (\[.*\])$/.exec(stepOf(image, 'HEALTHCHECK')) ?? [];
    expect(options).toMatch(/--interval=\d+s --timeout=\d+s --start-period=\d+s --retries=\d+/);
    const [program, flag, script = ''] = exec(command);
    expect([program, flag]).toEqual(['node', '-e']);
    expect(script).toContain(`http://127.0.0.1:$${'{process.env.PORT}'}/readyz`);
  });

  it('gets what it copies: nothing that is ignored, nothing that is missing', () => {
    const kept = [...fileOf('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path = '']) => path);
    expect(kept.filter((path) => !there(path))).toEqual([]);
    const copied = (build?.steps ?? [])
      .filter(([name]) => name === 'COPY')
      .flatMap(([, rest]) => rest.split(' ').slice(0, -1));
    expect(copied.filter((path) => path !== '.' && !kept.includes(path))).toEqual([]);
    // What npm packs has to be among it; dist/ is made there.
    const { files } = JSON.parse(fileOf('package.json'));
    const missing = files.filter((path: string) => path !== 'dist' && !kept.some((one) => path.startsWith(one)));
    expect(missing).toEqual([]);
    // So does what the compiler is told to compile, but for the tests.
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
  it('asks for its secrets', () => {
    expect(() => readCompose({})).toThrow(/: see OPERATIONS.md$/);
    expect(() => readCompose({ POSTGRES_PASSWORD: 'hush' })).toThrow(/^GATEWAY_KEYS/);
  });

  it('has two gateways with the same settings, all of which exist and are accepted', () => {
    expect(gateways).toHaveLength(2);
    expect(gateways[1]?.[1]).toEqual(gateways[0]?.[1]);
    for (const [, { environment }] of gateways) {
      expect(Object.keys(environment).filter((name) => !(name in EXPECTED))).toEqual([]);
      const { NODE_ENV: _, ...shipped } = environmentOf(image);
      const config = readConfig({ ...shipped, ...environment });
      const { hostname, port, username, password, pathname } = new URL(config.databaseUrl ?? '');
      const { POSTGRES_USER, POSTGRES_DB, POSTGRES_PASSWORD } = service('postgres').environment;
      expect([hostname, port, username, password, pathname]).toEqual([
        'postgres',
        '5432',
        POSTGRES_USER,
        POSTGRES_PASSWORD,
        `/${POSTGRES_DB}`,
      ]);
      expect([...config.webhooks.allowed]).toEqual([`http://receiver:${service('receiver').environment['PORT']}`]);
      // Nothing has to be written: neither keys nor a store.
      expect([config.keys?.length, config.host]).toEqual([1, '0.0.0.0']);
    }
  });

  it('believes the proxy, which is on its network, about addresses', () => {
    const subnet = networks.default.ipam.config[0]?.subnet ?? '';
    expect(gateways[0]?.[1].environment['GATEWAY_TRUSTED_PROXIES']).toBe(subnet);
    const [network = '', bits] = subnet.split('/');
    const list = new BlockList();
    list.addSubnet(network, Number(bits));
    expect([isIPv4(network), list.check('172.30.87.5'), list.check('172.30.88.5')]).toEqual([true, true, false]);
  });

  it('gateways are locked down, and end in their own time', () => {
    for (const [name, one] of gateways) {
      expect(one, name).toMatchObject({
        command: ['serve'],
        init: true,
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        stop_grace_period: '15s',
      });
      expect(one.volumes).toEqual([]);
    }
  });

  it('waits for what says that it is healthy, mounts what is there', () => {
    for (const [name, { depends_on, volumes: mounts }] of Object.entries(services)) {
      for (const other of Object.keys(depends_on)) {
        const healthy = service(other).healthcheck !== undefined || service(other).build === '.';
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
    expect(service('proxy').ports).toEqual([`${port}:${port}`]);
    expect(caddyfile).toContain(`\n${base} {\n\ttls internal\n`);
    const upstreams = gateways.map(([name]) => `${name}:${environmentOf(image)['PORT']}`).join(' ');
    expect(caddyfile).toContain(`reverse_proxy {$GATEWAYS:${upstreams}} {`);
    expect(caddyfile).toContain('health_uri /readyz');
    const [receiver = ''] = service('receiver').ports;
    const inside = service('receiver').environment['PORT'];
    expect(receiver).toBe(`127.0.0.1:${inside}:${inside}`);
  });
});
