import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
/** Child processes load this script. It reports connections and look-ups, and allows only loopback addresses. */
const GUARD = `
import net from 'node:net';
import dns from 'node:dns';
const { connect } = net.Socket.prototype;
const local = (host) => ['127.0.0.1', '::1', 'localhost'].includes(host);
net.Socket.prototype.connect = function (...sent) {
  const [to, host] = Array.isArray(sent[0]) ? sent[0] : sent;
  const name = to && typeof to === 'object' ? (to.path ?? to.host ?? 'localhost') : (typeof host === 'string' ? host : 'localhost');
  process.stderr.write('CONNECT ' + name + '\\n');
  if (!local(name)) throw new Error('no connection but to loopback');
  return connect.apply(this, sent);
};
const { lookup } = dns;
dns.lookup = (name, ...more) => {
  process.stderr.write('CONNECT ' + name + '\\n');
  if (!local(name)) throw new Error('no look-up but of localhost');
  return lookup(name, ...more);
};
`;
const inline = (code) => `--import=data:text/javascript,${encodeURIComponent(code)}`;
/**
 * Runs the first program of a package. `from`: the module whose packages are searched. `node`: the Node that runs it.
 * `heard` gets all output so far whenever the program writes more.
 */
export function run(name, args, from = import.meta.url, { node = process.execPath, patience = 20_000, heard } = {}) {
    const manifest = createRequire(from).resolve(`${name}/package.json`);
    const { bin } = JSON.parse(readFileSync(manifest, 'utf8'));
    const program = join(dirname(manifest), Object.values(bin)[0] ?? '');
    const began = performance.now();
    const child = spawn(node, [program, ...args], {
        env: { PATH: process.env['PATH'], NODE_OPTIONS: inline(GUARD) },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: patience,
        killSignal: 'SIGKILL',
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (part) => {
        stdout += part;
        heard?.(stdout);
    });
    child.stderr.setEncoding('utf8').on('data', (part) => {
        stderr += part;
    });
    return new Promise((resolve, reject) => {
        child.on('error', reject);
        child.on('close', (code) => {
            const lines = stderr.split('\n');
            resolve({
                code,
                stdout,
                stderr: lines.filter((line) => !line.startsWith('CONNECT ')).join('\n'),
                hosts: lines.flatMap((line) => /^CONNECT (.*)$/.exec(line)?.[1] ?? []),
                ms: Math.round(performance.now() - began),
            });
        });
    });
}
export function onlyLoopback({ hosts }) {
    expect(hosts.length).toBeGreaterThan(0);
    expect([...new Set(hosts)].filter((host) => !['127.0.0.1', '::1', 'localhost'].includes(host))).toEqual([]);
}
//# sourceMappingURL=loopback.js.map