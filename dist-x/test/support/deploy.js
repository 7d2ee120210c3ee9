import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { packageRoot } from '../../src/config/package.js';
export const fileOf = (path) => readFileSync(new URL(path, packageRoot), 'utf8');
/** The stages of the Dockerfile. Variables in FROM lines get their defaults from before the first FROM. */
export function readDockerfile() {
    const defaults = new Map();
    const lines = fileOf('Dockerfile')
        .replace(/^#.*\n/gm, '')
        .replace(/\\\n\s*/g, '')
        .split('\n')
        .filter((line) => line !== '');
    const stages = [];
    for (const line of lines) {
        const [, instruction = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
        const [, from = '', name] = /^(\S+)(?: AS (\S+))?$/.exec(rest) ?? [];
        if (instruction === 'ARG' && stages.length === 0)
            defaults.set(...argumentOf(rest));
        else if (instruction === 'FROM') {
            const image = from.replace(/^\$\{(\w+)\}$/, (_, variable) => defaults.get(variable) ?? '');
            stages.push({ from: image, name, steps: [] });
        }
        else
            stages.at(-1)?.steps.push([instruction, rest]);
    }
    return stages;
}
const argumentOf = (rest) => [
    rest.replace(/=.*/, ''),
    rest.replace(/^[^=]*=?/, ''),
];
/** A stage's arguments with their defaults. `given` replaces the defaults, like --build-arg. */
export const argumentsOf = (stage, given = {}) => Object.fromEntries(stage.steps
    .filter(([name]) => name === 'ARG')
    .map(([, rest]) => argumentOf(rest))
    .map(([name, value]) => [name, given[name] ?? value]));
export const labelsOf = (stage) => Object.fromEntries((stage?.steps ?? [])
    .filter(([name]) => name === 'LABEL')
    .map(([, rest]) => argumentOf(rest))
    .map(([name, value]) => [name, z.string().parse(JSON.parse(value))]));
export const stepOf = (stage, instruction) => stage?.steps.findLast(([name]) => name === instruction)?.[1] ?? '';
export const exec = (json) => z.array(z.string()).parse(JSON.parse(json));
export const environmentOf = (stage) => Object.fromEntries((stage?.steps ?? [])
    .filter(([name]) => name === 'ENV')
    .flatMap(([, rest]) => rest.split(' ').map((pair) => pair.split('='))));
const Strings = z.record(z.string(), z.coerce.string());
const Service = z.strictObject({
    image: z.string(),
    build: z.strictObject({ context: z.literal('.'), args: Strings }).optional(),
    pull_policy: z.literal('never').optional(),
    entrypoint: z.string().optional(),
    command: z.array(z.string()).optional(),
    environment: Strings.default({}),
    ports: z.array(z.string()).default([]),
    volumes: z.array(z.string()).default([]),
    depends_on: z.record(z.string(), z.strictObject({ condition: z.literal('service_healthy') })).default({}),
    healthcheck: z
        .strictObject({ test: z.array(z.string()), interval: z.string(), timeout: z.string(), retries: z.number() })
        .optional(),
    user: z.string().optional(),
    networks: z
        .union([z.array(z.string()), z.record(z.string(), z.strictObject({ ipv4_address: z.ipv4() }))])
        .default([]),
    tmpfs: z.array(z.string()).default([]),
    cap_add: z.array(z.string()).default([]),
    init: z.boolean().default(false),
    read_only: z.boolean().default(false),
    cap_drop: z.array(z.string()).default([]),
    security_opt: z.array(z.string()).default([]),
    stop_grace_period: z.string().optional(),
    restart: z.string().optional(),
    shm_size: z.string().optional(),
});
const Network = z.strictObject({
    internal: z.boolean().optional(),
    ipam: z.strictObject({ config: z.array(z.strictObject({ subnet: z.cidrv4(), ip_range: z.cidrv4() })) }).optional(),
});
const Compose = z.object({
    services: z.record(z.string(), Service),
    networks: z.record(z.string(), Network.nullable()).default({}),
    volumes: z.record(z.string(), z.null()).default({}),
});
/** Reads a compose file with these values for its variables. Throws if a required variable has no value. */
export function readCompose(given, path = 'resources/compose/production.yaml') {
    const text = fileOf(path).replace(/\$\{(\w+):([?-])([^}]*)\}/g, (_, name, kind, rest) => {
        const value = given[name] ?? (kind === '-' ? rest : undefined);
        if (value === undefined)
            throw new Error(`${name}: ${rest}`);
        return value;
    });
    return Compose.parse(parse(text, { merge: true }));
}
export const gatewaysOf = (services) => {
    const built = Object.values(services).find(({ build }) => build !== undefined)?.image;
    return Object.entries(services).filter(([, { image }]) => image === built);
};
export const databaseStatements = (password) => fileOf('resources/compose/database.sql')
    .replace(/^(--|\\getenv password DATABASE_PASSWORD$).*\n/gm, '')
    .replaceAll(":'password'", `'${password}'`)
    .split(/;\n/)
    .filter((statement) => statement !== '');
//# sourceMappingURL=deploy.js.map