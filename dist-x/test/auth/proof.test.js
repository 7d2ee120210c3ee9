import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAuthorities } from '../../src/auth/authority.js';
import { Failure } from '../../src/core/failures.js';
import { empty, sql } from '../../src/core/sql.js';
import { Caller } from '../../src/store/calls/caller.js';
import { guarded, guardedBatch, StaleAuthority } from '../../src/store/calls/guard.js';
import { readWebsites } from '../../src/store/calls/websites.js';
import { issue } from '../support/credentials.js';
import { freshDatabase } from '../support/database.js';
let database;
let authority;
let other;
beforeAll(async () => {
    database = await freshDatabase('demo');
    const authorities = openAuthorities(database.db);
    const fresh = async () => {
        const { token } = await issue(database.sql, 1);
        return (await authorities.fresh(token, 'rest', undefined)).authority;
    };
    [authority, other] = [await fresh(), await fresh()];
});
afterAll(() => database.close());
const stale = () => ({ ...authority, revision: authority.revision + 1 });
const statement = async (by) => {
    const { proof, rows } = await guarded({ authority: by, db: database.db }, sql `'yes' AS said`);
    return { proof, answer: rows[0]?.said ?? '' };
};
describe('a proof', () => {
    it('names the authority that the guard of its statement proved', async () => {
        const { proof } = await statement(authority);
        expect(proof.proves(authority)).toBe(true);
        expect(proof.proves({ ...authority, websites: new Map() })).toBe(true);
        expect(proof.proves(stale())).toBe(false);
        expect(proof.proves(other)).toBe(false);
    });
    it('is not made for an authority that does not hold', async () => {
        await expect(statement(stale())).rejects.toBeInstanceOf(StaleAuthority);
        const batch = [authority, stale(), { ...other, digest: Buffer.alloc(32) }, other];
        const { proofs } = await guardedBatch(database.db, batch, sql `1 AS one`, empty);
        expect(proofs.map((proof, i) => proof?.proves(batch[i] ?? other))).toEqual([true, undefined, undefined, true]);
    });
    it('is not made by hand', () => {
        // @ts-expect-error: a proof has private members, and its class is not exported
        const forged = { proves: () => true };
        expect(forged).not.toHaveProperty('constructor.name', 'Proof');
    });
});
describe('a caller', () => {
    it('holds a proof once an answer was taken, also one that is a refusal', async () => {
        const caller = new Caller(authority);
        expect(caller.proved).toBe(false);
        expect(await caller.take(statement(authority))).toBe('yes');
        expect(caller.proved).toBe(true);
        const refused = new Caller(authority);
        const refusal = statement(authority).then(({ proof }) => ({ proof, answer: new Failure('not_found') }));
        await expect(refused.take(refusal)).rejects.toMatchObject({ code: 'not_found' });
        expect(refused.proved).toBe(true);
    });
    it('takes no proof of another authority', async () => {
        const caller = new Caller(authority);
        await expect(caller.take(statement(other))).rejects.toThrow('another authority');
        expect(caller.proved).toBe(false);
    });
    it('is the way to an answer: an answer with its proof is not the answer', async () => {
        const access = { authority, db: database.db };
        const taken = new Caller(authority).take(readWebsites(access));
        expect((await taken).length).toBeGreaterThan(0);
        // @ts-expect-error: the statement returns the rows together with their proof
        const untaken = readWebsites(access);
        expect(await untaken).toHaveProperty('proof');
    });
});
//# sourceMappingURL=proof.test.js.map