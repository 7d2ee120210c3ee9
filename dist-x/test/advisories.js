import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';
const Audit = z.object({
    vulnerabilities: z.record(z.string(), z.object({ severity: z.string(), range: z.string() })),
});
const Lock = z.object({
    packages: z.record(z.string(), z.object({
        version: z.string().optional(),
        deprecated: z.string().optional(),
        dependencies: z.record(z.string(), z.string()).optional(),
        optionalDependencies: z.record(z.string(), z.string()).optional(),
    })),
});
const Version = z.union([
    z.string().transform((version) => ({ version, deprecated: undefined })),
    z.object({ version: z.string(), deprecated: z.string().optional() }),
]);
const Versions = z.union([Version.transform((one) => [one]), z.array(Version)]);
export async function advisories(lockText, npm) {
    const { packages } = Lock.parse(JSON.parse(lockText));
    const locked = Object.entries(packages).flatMap(([path, { deprecated }]) => deprecated === undefined ? [] : [`${path.replace(/^.*node_modules\//, '')} is deprecated: ${deprecated}`]);
    const audit = read(Audit, await npm(['audit', '--json']));
    if (audit) {
        const known = Object.entries(audit.vulnerabilities).map(([name, { severity, range }]) => `${name} has a known vulnerability (${severity}) in the versions ${range}`);
        return verdict([...known, ...locked], [`Asked the registry about ${Object.keys(packages).length - 1} packages.`]);
    }
    const { dependencies = {}, optionalDependencies = {} } = packages[''] ?? {};
    const found = [];
    const newer = [];
    const silent = [];
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
        const version = packages[`node_modules/${name}`]?.version ?? '';
        const told = read(Versions, await npm(['view', `${name}@~${version}`, 'version', 'deprecated', '--json']));
        const own = told?.find((one) => one.version === version);
        const last = told?.at(-1)?.version;
        if (!own)
            silent.push(name);
        if (own?.deprecated !== undefined)
            found.push(`${name} ${version} is deprecated: ${own.deprecated}`);
        if (own && last !== undefined && last !== version)
            newer.push(`${name} ${version} has the newer patch ${last}`);
    }
    const gap = 'The registry does not answer questions about advisories. So nobody has looked for known vulnerabilities.';
    if (silent.length > 0)
        return {
            code: 2,
            lines: [
                ...found,
                ...locked,
                gap,
                `The registry does not tell about these packages either: ${silent.join(', ')}.`,
            ],
        };
    return verdict([...found, ...locked], [
        ...newer.map((one) => `${one}. Read what it mends.`),
        gap,
        'Asked in place of it: each direct dependency of the package for deprecated versions and newer patches, and the notes in the lock file for all others.',
    ]);
}
const verdict = (found, notes) => ({
    code: found.length > 0 ? 1 : 0,
    lines: [...found, ...notes, found.length > 0 ? `${found.length} findings.` : 'No finding.'],
});
/** Undefined if the text is no JSON of this shape, as when a registry refuses. */
function read(shape, text) {
    try {
        return shape.safeParse(JSON.parse(text)).data;
    }
    catch {
        return undefined; // npm prints a text in place of JSON when it cannot ask
    }
}
const run = (args) => new Promise((resolve) => {
    execFile('npm', [...args], { maxBuffer: 64 * 1024 * 1024 }, (_error, stdout) => resolve(stdout));
});
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
    const { code, lines } = await advisories(readFileSync('package-lock.json', 'utf8'), run);
    process.stdout.write(`${lines.join('\n')}\n`);
    process.exitCode = code;
}
//# sourceMappingURL=advisories.js.map