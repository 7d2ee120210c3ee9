import { writeFileSync } from 'node:fs';
const FAULTS = Array.from({ length: 26 }, (_, i) => `F-${String(i + 1).padStart(2, '0')}`);
const sum = (all) => all.reduce((total, n) => total + n, 0);
const SLOWEST = 20;
const slowest = (modules) => modules
    .map((module) => ({ file: module.relativeModuleId, seconds: module.diagnostic().duration / 1_000 }))
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST)
    .map(({ file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${file}`);
/**
 * Ends the run with the slowest files, the counts of the tests, and the line that CI reads: `N passed, N failed`. Writes the
 * names of the failed files to the file that TEST_FAILED names: .ci/tests runs them once more.
 */
export default class Summary {
    onTestRunEnd(modules, errors) {
        const tests = modules.flatMap((module) => [...module.children.allTests()]);
        const count = (state) => tests.filter((test) => test.result().state === state).length;
        const shown = tests.map((test) => test.meta().shown ?? {});
        const parts = shown.flatMap(({ cells, inputs }) => [
            ...(cells ? [`cells ${cells.join('/')}`] : []),
            ...(inputs ? [`inputs ${inputs.asked}, 5xx ${inputs['5xx']}, leaks ${inputs.leaks}`] : []),
        ]);
        const passed = (test) => test.result().state === 'passed';
        const ran = tests.filter((test) => test.result().state !== 'skipped');
        // Each fault has an id. It counts as passed if every test that names the id has passed.
        const named = FAULTS.map((id) => ran.filter(({ fullName }) => new RegExp(`\\b${id}\\b`).test(fullName)));
        const counted = ['doubles', 'missed'].flatMap((what) => {
            const all = shown.flatMap((one) => one[what] ?? []);
            return all.length > 0 ? [`${what} ${sum(all)}`] : [];
        });
        if (named.some(({ length }) => length > 0)) {
            const stood = named.filter((all) => all.length > 0 && all.every(passed)).length;
            parts.push([`faults ${stood}/${FAULTS.length}`, ...counted].join(', '));
        }
        const planted = (all) => sum(all.map((test) => test.meta().shown?.planted ?? 0));
        if (planted(ran) > 0)
            parts.push(`planted defects ${planted(ran.filter(passed))}/${planted(ran)}`);
        const list = process.env['TEST_FAILED'];
        const failed = modules
            .filter((module) => module.state() === 'failed')
            .map((module) => `${module.relativeModuleId}\n`);
        // An error outside of all tests belongs to no file, so no second run can answer it.
        if (list !== undefined && errors.length === 0)
            writeFileSync(list, failed.join(''));
        process.stdout.write(`slowest files:\n${slowest(modules).join('\n')}\n`);
        if (parts.length > 0)
            process.stdout.write(`${parts.join(' · ')}\n`);
        process.stdout.write(`${count('passed')} passed, ${count('failed')} failed\n`);
    }
}
//# sourceMappingURL=summary.js.map