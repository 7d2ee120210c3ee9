import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';

/**
 * `npm run advisories`: looks for known defects in the locked versions. First asks the registry for its advisories. Some
 * registries do not answer this. Then each package's own data counts: a version can be marked as deprecated, and a newer
 * patch of the same version can exist. Ends with 1 if there is a finding, and with 2 if nothing could be asked.
 */
export interface Verdict {
  readonly code: 0 | 1 | 2;
  readonly lines: readonly string[];
}

/** Runs npm with these arguments. Returns its output, also if npm ends with an error. */
export type Npm = (args: readonly string[]) => Promise<string>;

const Audit = z.object({
  vulnerabilities: z.record(z.string(), z.object({ severity: z.string(), range: z.string() })),
});
const Lock = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      deprecated: z.string().optional(),
      dependencies: z.record(z.string(), z.string()).optional(),
      optionalDependencies: z.record(z.string(), z.string()).optional(),
    }),
  ),
});
const Version = z.union([
  z.string().transform((version) => ({ version, deprecated: undefined })),
  z.object({ version: z.string(), deprecated: z.string().optional() }),
]);
const Versions = z.union([Version.transform((one) => [one]), z.array(Version)]);

export async function advisories(lockText: string, npm: Npm): Promise<Verdict> {
  const { packages } = Lock.parse(JSON.parse(lockText));
  const locked = Object.entries(packages).flatMap(([path, { deprecated }]) =>
    deprecated === undefined ? [] : [`${path.replace(/^.*node_modules\//, '')} is deprecated: ${deprecated}`],
  );
  const audit = read(Audit, await npm(['audit', '--json']));
  if (audit) {
    const known = Object.entries(audit.vulnerabilities).map(
      ([name, { severity, range }]) => `${name} has a known vulnerability (${severity}) in the versions ${range}`,
    );
    return verdict([...known, ...locked], [`Asked the registry about ${Object.keys(packages).length - 1} packages.`]);
  }
  const { dependencies = {}, optionalDependencies = {} } = packages[''] ?? {};
  const found: string[] = [];
  const newer: string[] = [];
  const silent: string[] = [];
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const version = packages[`node_modules/${name}`]?.version ?? '';
    const told = read(Versions, await npm(['view', `${name}@~${version}`, 'version', 'deprecated', '--json']));
    const own = told?.find((one) => one.version === version);
    const last = told?.at(-1)?.version;
    if (!own) silent.push(name);
    if (own?.deprecated !== undefined) found.push(`${name} ${version} is deprecated: ${own.deprecated}`);
    if (own && last !== undefined && last !== version) newer.push(`${name} ${version} has the newer patch ${last}`);
  }
  const gap =
    'The registry does not answer questions about advisories. So nobody has looked for known vulnerabilities.';
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
  return verdict(
    [...found, ...locked],
    [
      ...newer.map((one) => `${one}. Read what it mends.`),
      gap,
      'Asked in place of it: each direct dependency of the package for deprecated versions and newer patches, and the notes in the lock file for all others.',
    ],
  );
}

const verdict = (found: readonly string[], notes: readonly string[]): Verdict => ({
  code: found.length > 0 ? 1 : 0,
  lines: [...found, ...notes, found.length > 0 ? `${found.length} findings.` : 'No finding.'],
});

/** Undefined if the text is no JSON of this shape, as when a registry refuses. */
function read<Out>(shape: z.ZodType<Out>, text: string): Out | undefined {
  try {
    return shape.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // npm prints a text in place of JSON when it cannot ask
  }
}

const run: Npm = (args) =>
  new Promise((resolve) => {
    execFile('npm', [...args], { maxBuffer: 64 * 1024 * 1024 }, (_error, stdout) => resolve(stdout));
  });

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { code, lines } = await advisories(readFileSync('package-lock.json', 'utf8'), run);
  process.stdout.write(`${lines.join('\n')}\n`);
  process.exitCode = code;
}
