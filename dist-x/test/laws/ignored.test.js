import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { newSecret } from '../../src/auth/tokens.js';
import { checkout } from '../support/command.js';
const folder = mkdtempSync(join(tmpdir(), 'gateway-ignored-'));
afterAll(() => rmSync(folder, { recursive: true }));
it('the lint of a checkout in which the gateway has run reads no data folder, and prints no token', () => {
    copyFileSync(join(checkout, 'biome.json'), join(folder, 'biome.json'));
    const token = newSecret('installation_test');
    const lint = (at) => {
        mkdirSync(join(folder, at), { recursive: true });
        writeFileSync(join(folder, at, 'demo-token.json'), `{"token":"${token}"  }`);
        const { status, stdout, stderr } = spawnSync(join(checkout, 'node_modules/.bin/biome'), ['check', '--error-on-warnings'], {
            cwd: folder,
            encoding: 'utf8',
        });
        rmSync(join(folder, at), { recursive: true });
        return { status, told: (stdout + stderr).includes(token) };
    };
    expect(lint('.data')).toEqual({ status: 0, told: false });
    // The same file elsewhere is found, so the check above can fail.
    expect(lint('elsewhere')).toEqual({ status: 1, told: true });
});
//# sourceMappingURL=ignored.test.js.map