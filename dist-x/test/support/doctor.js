import { vi } from 'vitest';
import { run } from '../../src/cli/program.js';
import { addressOf } from './database.js';
/** Findings of `gateway doctor --json` on a test database. There must be none, even after a fault. */
export async function doctor(database) {
    const before = process.env['DATABASE_URL'];
    process.env['DATABASE_URL'] = addressOf(database);
    let written = '';
    const spy = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
        written += Buffer.from(chunk).toString();
        return true;
    });
    try {
        const not = () => Promise.reject(new Error('only main.ts has it'));
        await run(['doctor', '--json'], { serve: not, generate: not });
    }
    finally {
        spy.mockRestore();
        process.exitCode = undefined;
        if (before === undefined)
            delete process.env['DATABASE_URL'];
        else
            process.env['DATABASE_URL'] = before;
    }
    const { findings, checks } = JSON.parse(written); // the cast is sound, because a test of the doctor checks this shape
    if (checks < 15)
        throw new Error(`doctor made ${checks} checks`);
    return findings;
}
//# sourceMappingURL=doctor.js.map