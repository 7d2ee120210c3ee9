import { createInterface } from 'node:readline/promises';
import { Refused } from './output.js';
export const irreversible = (command) => command.option('--yes', 'do not ask for confirmation (only a terminal is asked)');
/** Asks the operator before an irreversible change, but only on a terminal. Throws Refused unless the answer is yes. */
export async function confirm(command, question) {
    const { yes } = command.opts();
    if (yes === true || process.stdin.isTTY !== true)
        return;
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    const stopped = new AbortController();
    lines.once('close', () => stopped.abort());
    try {
        const answer = await lines.question(`${question} [y/N] `, { signal: stopped.signal });
        if (!/^y(es)?$/i.test(answer.trim()))
            throw new Refused('Nothing was changed.');
    }
    catch (error) {
        if (error instanceof Refused)
            throw error;
        throw new Refused('Nothing was changed.', { cause: error }); // Ctrl-C, Ctrl-D or a closed terminal
    }
    finally {
        lines.close();
    }
}
//# sourceMappingURL=confirm.js.map