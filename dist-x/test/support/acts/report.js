import { BEHAVIOURS } from './behaviours.js';
import { FAULTS, SKIPPED } from './judged.js';
import { isMembers, valuesAt } from './matching.js';
import { runTest } from './run.js';
import { openWire } from './wire.js';
/** Runs all tests, one after another. Each ends with an outcome. */
export async function runSuites(agent, tests) {
    const card = (await openWire(agent.origin, '').card()).result;
    const results = [];
    for (const test of tests) {
        const { id, suite, level } = test;
        const skipped = reasonToSkip(test, card);
        const [outcome, reason] = skipped === undefined ? await outcomeOf(agent, test) : ['skipped', skipped];
        results.push({ id, suite, level, outcome, reason });
    }
    return results;
}
async function outcomeOf(agent, test) {
    const found = await runTest(agent, test);
    const fault = FAULTS[test.id];
    if (!fault)
        return found === undefined ? ['passed', ''] : ['failed', found];
    if (found === undefined)
        return ['failed', 'passes as written, so it is no fault of the suite'];
    const written = JSON.stringify(test);
    if (!written.includes(fault.wrong))
        return ['failed', 'the suite has changed: the text to correct is gone'];
    const corrected = JSON.parse(written.replace(fault.wrong, fault.right));
    const still = await runTest(agent, corrected);
    return still === undefined ? ['corrected', `${fault.section}: ${fault.sentence}`] : ['failed', still];
}
function reasonToSkip(test, card) {
    if (test.steps.some((step) => step.client_response))
        return 'The test is for clients. The gateway is an agent.';
    if (!test.transport.includes('jsonrpc'))
        return `The agent offers no binding ${test.transport.join(' or ')}.`;
    for (const [name, wanted] of Object.entries(test.preconditions?.capabilities ?? {})) {
        if (capability(card, name) !== wanted)
            return `The card says ${name}: ${capability(card, name)}.`;
    }
    for (const name of test.requires_behaviors) {
        const behaviour = BEHAVIOURS[name];
        if (!behaviour)
            return `The adapter does not know the behaviour ${name}.`;
        if ('skipped' in behaviour)
            return behaviour.skipped;
    }
    return SKIPPED[test.id];
}
/** A2A has no capability `authentication`. The suites mean a card that asks for a scheme. */
function capability(card, name) {
    if (name === 'authentication')
        return isMembers(valuesAt('securitySchemes', card)[0]);
    return valuesAt(`capabilities.${name}`, card)[0] ?? false;
}
/** The table of a report: outcomes by level, and all tests that did not simply pass. */
export function tableOf(results) {
    const count = (level, outcome) => results.filter((one) => one.level === level && one.outcome === outcome).length;
    const rows = ['must', 'should', 'may'].map((level) => `${level}: ${OUTCOMES.map((outcome) => `${count(level, outcome)} ${outcome}`).join(', ')}`);
    const others = results
        .filter(({ outcome }) => outcome !== 'passed')
        .map(({ outcome, level, id, reason }) => `${outcome.padEnd(9)} ${level.padEnd(6)} ${id.padEnd(18)} ${reason}`);
    return [...rows, ...others].join('\n');
}
const OUTCOMES = ['passed', 'corrected', 'failed', 'skipped'];
//# sourceMappingURL=report.js.map