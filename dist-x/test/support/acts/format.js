import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
/**
 * The file format of the A2A conformance tests (ACTS), as far as its suites use it. The suites also hold forms that the
 * format does not name, such as `expect.error` and `items`. The runner reads these, too.
 */
const Members = z.record(z.string(), z.unknown());
const Assertion = z.object({
    source: z.string(),
    any: z.object({ path: z.string(), match: Members }),
});
const Step = z.object({
    id: z.string(),
    operation: z.string().optional(),
    params: Members.default({}),
    raw: z
        .object({
        method: z.enum(['GET', 'POST']),
        path: z.string(),
        headers: z.record(z.string(), z.string()).default({}),
        body: Members.optional(),
        body_raw: z.string().optional(),
    })
        .optional(),
    expect: Members.optional(),
    expect_error: Members.optional(),
    expect_stream: z
        .object({
        min_count: z.int().default(0),
        ordering: z.literal('monotonic_state').optional(),
        events: z.array(Members).default([]),
        final_event: z.unknown().optional(),
        each_event: z.unknown().optional(),
    })
        .optional(),
    capture: z.record(z.string(), z.string()).default({}),
    assertions: z.array(Assertion).default([]),
    repeat: z
        .object({ until: z.string(), max_attempts: z.int().default(10), delay_ms: z.int().default(1000) })
        .optional(),
    client_response: Members.optional(),
});
const Test = z.object({
    id: z.string(),
    name: z.string(),
    level: z.enum(['must', 'should', 'may']),
    transport: z.array(z.string()).default(['jsonrpc']),
    preconditions: z.object({ capabilities: Members.default({}) }).optional(),
    requires_behaviors: z.array(z.string()).default([]),
    steps: z.array(Step).min(1),
});
const Document = z.object({
    // A runner refuses a major version that it does not know.
    acts_version: z.string().regex(/^1\./),
    variables: z.record(z.string(), z.string()).default({}),
    include: z.array(z.string()).default([]),
    suites: z.array(z.object({ id: z.string(), tests: z.array(Test) })).default([]),
});
/** The tests of a file and of all files that it includes, in their order. */
export function readSuite(folder, file = 'suite.acts.yaml') {
    const { suites, include, variables } = Document.parse(parse(readFileSync(join(folder, file), 'utf8')));
    const own = suites.flatMap(({ id, tests }) => tests.map((test) => ({ ...test, suite: id, variables })));
    return [...own, ...include.flatMap((name) => readSuite(folder, name))];
}
//# sourceMappingURL=format.js.map