import { meanOf, passTogether } from './score.js';
import { TWENTY } from './tasks.js';
const grouped = (all, by) => [...new Set(all.map(by))].map((key) => all.filter((one) => by(one) === key));
const total = (all) => all.reduce((sum, n) => sum + n, 0);
function sumsOf(attempts) {
    const tasks = grouped(attempts, ({ task }) => task);
    const sum = (figure) => Math.round(total(tasks.map((runs) => total(runs.map(figure)) / runs.length)) * 10) / 10;
    return {
        tasks: tasks.length,
        solved: tasks.filter((runs) => runs.every(({ passed }) => passed)).length,
        calls: sum(({ calls }) => calls),
        received: sum(({ received }) => received),
        read: sum(({ read }) => read),
        sent: sum(({ sent }) => sent),
        listOnce: Math.max(0, ...attempts.map(({ opening }) => opening)),
        listEach: sum(({ opening }) => opening),
    };
}
export function summaryOf(all) {
    return grouped(all, ({ server }) => server).map((attempts) => {
        const tasks = grouped(attempts, ({ task }) => task);
        const passed = tasks.map((runs) => runs.map((one) => one.passed));
        const figure = (of) => meanOf(tasks.map((runs) => runs.map(of)));
        const ended = grouped(attempts.filter(({ end }) => end !== 'answered'), ({ end }) => end);
        const hasTokens = attempts.some(({ tokens }) => tokens !== undefined);
        const [{ server } = { server: 'mcp' }] = attempts;
        return {
            server,
            attempts: attempts.length,
            passed1: passTogether(passed, 1),
            passed4: passTogether(passed, 4),
            inBudget: attempts.filter((one) => one.passed && one.inBudget).length,
            calls: figure(({ calls }) => calls),
            received: figure(({ received }) => received),
            read: figure(({ read }) => read),
            tokensIn: hasTokens ? figure(({ tokens }) => tokens?.input ?? 0) : undefined,
            tokensOut: hasTokens ? figure(({ tokens }) => tokens?.output ?? 0) : undefined,
            faults: Object.fromEntries(ended.map((of) => [of[0]?.end ?? '', of.length])),
            malformed: total(attempts.map(({ malformed = 0 }) => malformed)),
            all: sumsOf(attempts),
            twenty: sumsOf(attempts.filter(({ task }) => TWENTY.some(({ id }) => id === task))),
        };
    });
}
const number = (n) => n.toLocaleString('en-US', { maximumFractionDigits: n < 100 ? 2 : 0 });
const estimate = (one) => one ? `${number(one.value)} [${number(one.from)}, ${number(one.to)}]` : 'none';
const table = (head, rows) => [head, head.map((_, column) => (column === 0 ? '---' : '--:')), ...rows]
    .map((row) => `| ${row.join(' | ')} |`)
    .join('\n');
/** The report as Markdown: both servers side by side, then each task, then what went wrong. */
export function markdownOf(title, all) {
    const summaries = summaryOf(all);
    const row = (name, of) => [name, ...summaries.map(of)];
    const sums = (name, of) => [
        row(`${name}: solved in every run`, (one) => `${of(one).solved} of ${of(one).tasks}`),
        row(`${name}: calls`, (one) => number(of(one).calls)),
        row(`${name}: bytes of answers`, (one) => number(of(one).received)),
        row(`${name}: of these, read by the model`, (one) => number(of(one).read)),
        row(`${name}: bytes of requests`, (one) => number(of(one).sent)),
        row(`${name}: bytes of the tool list, once`, (one) => number(of(one).listOnce)),
        row(`${name}: answers and list, once`, (one) => number(of(one).received + of(one).listOnce)),
        row(`${name}: tool lists, one a task`, (one) => number(of(one).listEach)),
    ];
    const faulty = all.filter(({ passed }) => !passed);
    return [
        `# ${title}`,
        table(['figure, with 95 % interval', ...summaries.map(({ server }) => server)], [
            row('attempts', ({ attempts }) => number(attempts)),
            row('pass^1', ({ passed1 }) => estimate(passed1)),
            row('pass^4', ({ passed4 }) => (passed4 ? estimate(passed4) : 'needs four runs')),
            row('passed within the budget', ({ inBudget }) => number(inBudget)),
            row('calls a task', ({ calls }) => estimate(calls)),
            row('bytes of answers a task', ({ received }) => estimate(received)),
            row('of these, read by the model', ({ read }) => estimate(read)),
            row('tokens in a task', ({ tokensIn }) => estimate(tokensIn)),
            row('tokens out a task', ({ tokensOut }) => estimate(tokensOut)),
            row('ended without an answer', ({ faults }) => JSON.stringify(faults)),
            row('calls with malformed arguments', ({ malformed }) => number(malformed)),
        ]),
        table(['sums', ...summaries.map(({ server }) => server)], [...sums('all tasks', (one) => one.all), ...sums('twenty reads', ({ twenty }) => twenty)]),
        table(['task', ...summaries.flatMap(({ server }) => [`${server} passed`, 'calls', 'bytes', 'read'])], grouped(all, ({ task }) => task).map((of) => [
            of[0]?.task ?? '',
            ...summaries.flatMap(({ server }) => {
                const runs = of.filter((one) => one.server === server);
                const { calls, received, read } = sumsOf(runs);
                const passed = `${runs.filter((one) => one.passed).length} of ${runs.length}`;
                return [passed, number(calls), number(received), number(read)];
            }),
        ])),
        ...(faulty.length > 0
            ? [
                '## Failures',
                faulty
                    .map(({ task, server, run, end, fault, missing, forbidden, db }) => {
                    const reasons = [
                        ...missing.map((one) => `missing: ${one}`),
                        ...forbidden.map((one) => `forbidden: ${one}`),
                    ];
                    const told = [fault, ...reasons, ...db].filter(Boolean).join('; ');
                    return `- ${task}, ${server}, run ${run}, ${end}: ${told}`;
                })
                    .join('\n'),
            ]
            : []),
        '',
    ].join('\n\n');
}
//# sourceMappingURL=report.js.map