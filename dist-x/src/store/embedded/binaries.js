import { accessSync, constants, existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { copyForOthers, linksComplete } from './copies.js';
import { machine } from './machine.js';
import { run } from './run.js';
import { StoreUnavailable } from './unavailable.js';
/** Finds programs that `account` can run: in the npm package, on PATH, then the newest under /usr/lib/postgresql. */
export async function findBinaries(options) {
    const { dataDir, account, want, oldestMajor, log } = options;
    const reasons = [];
    if (want !== 'path') {
        const found = await packaged(dataDir, account, oldestMajor);
        if (typeof found !== 'string')
            return found;
        reasons.push(found);
        if (want !== 'embedded')
            log(`${found}; looking for a PostgreSQL on this machine`);
    }
    if (want !== 'embedded') {
        for (const bin of installed()) {
            const found = await probe(bin, 'path', account, oldestMajor);
            if (typeof found !== 'string')
                return found;
            reasons.push(found);
        }
        reasons.push(`no usable PostgreSQL ${oldestMajor} or newer on PATH or under /usr/lib/postgresql`);
    }
    throw new StoreUnavailable(`No PostgreSQL to run (${reasons.join('; ')}): set DATABASE_URL to a PostgreSQL server, install PostgreSQL ` +
        `${oldestMajor} or newer, or install the npm packages of the gateway again with optional dependencies.`);
}
/** The programs of the npm package. Copied if the account cannot reach them, or their libraries cannot be linked. */
async function packaged(dataDir, account, oldestMajor) {
    const name = machine.package;
    let root;
    try {
        root = dirname(dirname(createRequire(import.meta.url).resolve(name)));
    }
    catch {
        return `the npm package ${name} is not installed`;
    }
    const native = join(root, 'native');
    if (!existsSync(join(native, 'bin', `postgres${machine.suffix}`)))
        return `the npm package ${name} is incomplete`;
    const inPlace = linksComplete(native)
        ? await probe(join(native, 'bin'), 'embedded', account, oldestMajor)
        : 'links are missing';
    if (typeof inPlace !== 'string')
        return inPlace;
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const copy = await copyForOthers(native, { dataDir, account, name: `postgres-${process.arch}-${version}` });
    return copy
        ? probe(join(copy, 'bin'), 'embedded', account, oldestMajor)
        : `${inPlace}, and no folder could take a copy of it`;
}
function installed() {
    const debian = '/usr/lib/postgresql';
    const majors = list(debian).sort((a, b) => Number(b) - Number(a));
    const folders = [...(process.env.PATH ?? '').split(delimiter), ...majors.map((major) => join(debian, major, 'bin'))];
    const bins = folders.filter(isAbsolute).flatMap((folder) => {
        try {
            const bin = dirname(realpathSync(join(folder, `postgres${machine.suffix}`)));
            accessSync(join(bin, `initdb${machine.suffix}`), constants.X_OK);
            return [bin];
        }
        catch {
            return []; // most folders of PATH hold no PostgreSQL
        }
    });
    return [...new Set(bins)];
}
function list(folder) {
    try {
        return readdirSync(folder);
    }
    catch {
        return []; // only Debian and its derivatives have this folder
    }
}
/** Runs `postgres --version` as the account (8 ms). This one call checks the path, the libraries and the version. */
async function probe(bin, origin, account, oldestMajor) {
    const { status, stdout, stderr } = await run(join(bin, 'postgres'), ['--version'], { account });
    const [, version = '', digits = ''] = / ((\d+)\S*)/.exec(stdout) ?? [];
    const major = Number(digits);
    if (status !== 0 || version === '')
        return `${bin}/postgres does not run (${stderr.trim() || `status ${status}`})`;
    if (major < oldestMajor)
        return `${bin}/postgres is version ${version}`;
    return { bin, version, major, origin };
}
//# sourceMappingURL=binaries.js.map