import { mayRepeat, sqlState } from './errors.js';
/** SQLSTATEs of a deadlock and a serialization failure. PostgreSQL has then undone the whole statement (check F-21). */
const UNDONE = /^(40P01|40001)$/;
const ATTEMPTS = 3;
/**
 * Repeats a statement that PostgreSQL has undone, or whose reply was lost. `lost: false`: a lost reply is an error,
 * because a second attempt could take effect twice.
 */
export async function repeated(run, lost = true) {
    for (let attempt = 1;; attempt++) {
        try {
            return await run(attempt);
        }
        catch (error) {
            const may = (lost && mayRepeat(error)) || UNDONE.test(sqlState(error));
            if (!may || attempt === ATTEMPTS)
                throw error;
        }
    }
}
//# sourceMappingURL=repeated.js.map