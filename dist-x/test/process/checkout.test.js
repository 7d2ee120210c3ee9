import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkout, shellEnvironment } from '../support/command.js';
import { scratch } from '../support/scratch.js';
/** A small checkout with the real launcher, the real compiler and one source. */
let folder;
const source = (text) => writeFileSync(join(folder, 'src/main.ts'), text);
/** The time of a file has to differ from the start of the build, also on a file system with coarse times. */
const later = (path) => {
    const soon = new Date(Date.now() + 2_000);
    utimesSync(join(folder, path), soon, soon);
};
beforeAll(() => {
    folder = scratch('checkout');
    for (const name of ['src/process', 'tools', 'skills', 'prompts', 'resources', 'test', 'node_modules'])
        mkdirSync(join(folder, name), { recursive: true });
    symlinkSync(join(checkout, 'node_modules/typescript'), join(folder, 'node_modules/typescript'));
    symlinkSync(join(checkout, 'node_modules/@typescript'), join(folder, 'node_modules/@typescript'));
    cpSync(join(checkout, 'src/process/checkout.js'), join(folder, 'src/process/checkout.js'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'tsconfig.json'), '{"compilerOptions":{"target":"es2023","module":"nodenext","rootDir":".","outDir":"dist","incremental":true,"tsBuildInfoFile":"dist/.tsbuildinfo","types":[]},"include":["src"]}');
    source("const wrong: number = 'a type, which is not checked';\ndeclare const process: { argv: string[] };\nconsole.log('one', ...process.argv.slice(2));\n");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const run = (...args) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['src/process/checkout.js', ...args], {
        cwd: folder,
        env: shellEnvironment(),
        encoding: 'utf8',
    });
    return { status, stdout, stderr };
};
const FIRST = /^gateway: building, because there is no build yet\ngateway: built in [\d.]+ s\n$/;
const BUILDS = /^gateway: building, because a source has changed since the last build\ngateway: built in [\d.]+ s\n$/;
it('builds at first and after a change, and says so; otherwise the compiler is not started', () => {
    expect(run('a', '--b')).toEqual({ status: 0, stdout: 'one a --b\n', stderr: expect.stringMatching(FIRST) });
    expect(run()).toEqual({ status: 0, stdout: 'one\n', stderr: '' });
    // A missing compiler is no problem while nothing has changed.
    rmSync(join(folder, 'node_modules/typescript'));
    expect(run()).toEqual({ status: 0, stdout: 'one\n', stderr: '' });
    symlinkSync(join(checkout, 'node_modules/typescript'), join(folder, 'node_modules/typescript'));
    source("console.log('two');\n");
    later('src/main.ts');
    expect(run()).toEqual({ status: 0, stdout: 'two\n', stderr: expect.stringMatching(BUILDS) });
});
it('builds after a file has gone, and after the packages have changed', () => {
    for (const path of ['src', 'tsconfig.json', 'node_modules/.package-lock.json']) {
        for (const other of ['src/main.ts', 'src', 'tsconfig.json'])
            utimesSync(join(folder, other), 0, 0);
        expect(run().status).toBe(0);
        expect(run().stderr, path).toBe('');
        if (path.startsWith('node_modules'))
            writeFileSync(join(folder, path), '{}');
        later(path);
        expect(run().stderr, path).toMatch(BUILDS);
        rmSync(join(folder, 'node_modules/.package-lock.json'), { force: true });
    }
});
it('a source with an error of syntax is refused, and the old build does not run', () => {
    source('const wrong = ;\n');
    later('src/main.ts');
    const { status, stdout, stderr } = run();
    expect(status).toBe(1);
    expect(stdout + stderr).toMatch(/main\.ts.*TS1109/);
    expect(stderr).toContain('gateway: The build failed.');
    expect(stdout).not.toContain('two');
});
//# sourceMappingURL=checkout.test.js.map