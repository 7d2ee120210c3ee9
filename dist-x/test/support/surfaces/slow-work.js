import { setTimeout as pause } from 'node:timers/promises';
/**
 * Makes every skill that reads contacts wait for some milliseconds, so that a client sees the task while it runs.
 * Resolves when this begins.
 */
export async function holdContacts(sql, milliseconds) {
    const lock = await sql.reserve();
    await lock `BEGIN`;
    await lock `LOCK TABLE platform.contact IN ACCESS EXCLUSIVE MODE`;
    const release = async () => {
        await pause(milliseconds);
        await lock `ROLLBACK`;
        lock.release();
    };
    release().catch(() => undefined); // the database may have closed before the time is over
}
//# sourceMappingURL=slow-work.js.map