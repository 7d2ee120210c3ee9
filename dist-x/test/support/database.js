import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { inject } from 'vitest';
import { openDatabase } from '../../src/store/driver/postgres.js';
/** The address for DATABASE_URL. The host is the path of a folder with a socket, so the host must be encoded. */
export const addressOf = ({ host, port, name }) => `postgres://postgres@${encodeURIComponent(host)}:${port}/${name}`;
export async function freshDatabase(template = 'empty') {
    const { host, port } = inject('server');
    const name = `t_${randomBytes(6).toString('hex')}`;
    const options = { host, port, username: 'postgres', max: 3, onnotice: () => undefined };
    const admin = postgres({ ...options, database: 'postgres', max: 1 });
    await admin.unsafe(`CREATE DATABASE ${name} TEMPLATE ${template}_template STRATEGY FILE_COPY`);
    const target = { host, port, database: name, username: 'postgres' };
    const db = openDatabase({ target, connections: 4, statementTimeout: 5_000, name: 'test' });
    const sql = postgres({ ...options, database: name });
    return {
        name,
        host,
        port,
        db,
        sql,
        close: async () => {
            await Promise.all([db.close(), sql.end()]);
            await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
            await admin.end();
        },
    };
}
/** The same database. Each statement of the gateway is first given to `count`. */
export function counting(own, count) {
    const { db } = own;
    const query = (statement) => {
        count(statement);
        return db.query(statement);
    };
    const read = (statement) => {
        count(statement);
        return db.read(statement);
    };
    return { ...own, db: { ...db, query, read } };
}
//# sourceMappingURL=database.js.map