import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Parser } from 'htmlparser2';
/** Reads the report that pytest writes with `--junitxml`. */
export function readReport(xml) {
    const results = [];
    const end = (outcome, { message = '' }) => {
        const last = results.pop();
        if (last)
            results.push({ ...last, outcome, reason: message.split('\n')[0] ?? '' });
    };
    const parser = new Parser({
        onopentag(name, attributes) {
            const { classname = '', name: test = '' } = attributes;
            if (name === 'testcase') {
                const file = classname.split('.').find((one) => one.startsWith('test_')) ?? classname;
                results.push({ test: `${file}.${test}`, outcome: 'passed', reason: '' });
            }
            if (name === 'failure' || name === 'error')
                end('failed', attributes);
            if (name === 'skipped')
                end('skipped', attributes);
        },
    }, { xmlMode: true, decodeEntities: true });
    parser.end(xml);
    return results;
}
/** The categories of the TCK: their folders, and the marks of their tests. */
const CATEGORIES = {
    mandatory: ['tests/mandatory', '-m', 'mandatory or mandatory_protocol or mandatory_jsonrpc'],
    capabilities: ['tests/optional/capabilities'],
};
/** Runs one category of the TCK, file by file. TCK_PYTHON names a Python that has its packages. */
export async function runTck({ folder, url, issue, category }) {
    const [path, ...marks] = CATEGORIES[category];
    const files = readdirSync(join(folder, path), { recursive: true, encoding: 'utf8' })
        .filter((name) => /(^|\/)test_[^/]+\.py$/.test(name))
        .toSorted();
    const results = [];
    for (const file of files) {
        const args = [join(path, file), ...marks, `--sut-url=${url}`, '--test-scope=all', '--transports', 'jsonrpc'];
        results.push(...(await pytest(folder, args, await issue())));
    }
    return results;
}
async function pytest(folder, args, token) {
    const scratch = mkdtempSync(join(tmpdir(), 'tck-'));
    const report = join(scratch, 'report.xml');
    const options = ['--tb=line', '-q', '-p', 'no:cacheprovider', `--junitxml=${report}`];
    const child = spawn(process.env['TCK_PYTHON'] ?? 'python3', ['-m', 'pytest', ...args, ...options], {
        cwd: folder,
        // Bytecode would change the checkout.
        env: { ...process.env, A2A_AUTH_TYPE: 'bearer', A2A_AUTH_TOKEN: token, PYTHONDONTWRITEBYTECODE: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
    });
    let printed = '';
    for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (part) => {
            printed += part;
        });
    try {
        await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
        if (!existsSync(report))
            throw new Error(`pytest wrote no report:\n${printed}`);
        return readReport(readFileSync(report, 'utf8'));
    }
    finally {
        rmSync(scratch, { recursive: true, force: true });
    }
}
/**
 * A proxy on loopback that adds the header A2A-Version, which the TCK does not send, and adapts bodies. Some tests of the
 * TCK look for the card below the address of the endpoint.
 */
export async function openAdapter(port, adapt) {
    const forward = async (incoming, outgoing) => {
        const parts = [];
        for await (const part of incoming)
            parts.push(part);
        const sent = Buffer.concat(parts);
        const body = (sent.length > 0 ? await adapt(sent.toString('utf8')) : undefined) ?? sent;
        const { 'content-length': _, 'transfer-encoding': __, ...headers } = incoming.headers;
        const onward = httpRequest({
            ...{ host: '127.0.0.1', port, path: incoming.url?.replace(/^\/a2a(?=\/)/, ''), method: incoming.method },
            headers: {
                'a2a-version': '1.0',
                ...headers,
                ...(body.length > 0 && { 'content-length': Buffer.byteLength(body) }),
            },
        }, (answer) => {
            outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
            answer.pipe(outgoing);
        });
        onward.on('error', () => outgoing.destroy());
        outgoing.on('close', () => onward.destroy());
        onward.end(body);
    };
    const server = createServer((incoming, outgoing) => {
        forward(incoming, outgoing).catch(() => outgoing.destroy());
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
        // A listening TCP server always has an address with a port.
        origin: `http://127.0.0.1:${server.address().port}`,
        async close() {
            server.closeAllConnections();
            await new Promise((resolve) => server.close(resolve));
        },
    };
}
//# sourceMappingURL=tck.js.map