import { createHash } from 'node:crypto';
import { Remembered } from '../remembered.js';
/**
 * Leaves out changes that earlier rounds have already reported. The windows of two rounds overlap by more than a
 * minute, because transactions commit late. With a period of 2 s, each change would be written 30 times.
 */
export class Repeats extends Remembered {
    /** Returns the changes of the rows whose changes differ from those of the last round and of this round. */
    without(changes) {
        const rows = new Map();
        for (const change of changes) {
            const told = rows.get(change.from);
            if (told === undefined)
                rows.set(change.from, [change]);
            else
                told.push(change);
        }
        return [...rows].flatMap(([from, told]) => {
            // One string of all records could be longer than the longest possible string.
            const hash = createHash('sha256');
            for (const change of told)
                hash.update(JSON.stringify(change));
            const digest = hash.digest('base64url');
            const known = this.of(from);
            this.remember(from, digest);
            return known === digest ? [] : told;
        });
    }
}
//# sourceMappingURL=repeats.js.map