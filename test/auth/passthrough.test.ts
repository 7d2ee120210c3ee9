import { type AddressInfo, createServer, connect as dial, type Server } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sql } from '../../src/core/sql.ts';
import { type Database, openDatabase } from '../../src/store/driver/postgres.ts';
import { freshDatabase, type TestDatabase } from '../support/database.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { rpc } from '../support/surfaces/mcp.ts';

const sent: Buffer[] = [];
let wire: Server;
let own: TestDatabase;
let db: Database;
let gateway: TestGateway;

beforeAll(async () => {
  own = await freshDatabase('demo');
  wire = createServer((client) => {
    const { host, port } = own;
    const server = host.startsWith('/') ? dial(`${host}/.s.PGSQL.${port}`) : dial({ host, port });
    client.on('data', (part) => sent.push(Buffer.from(part)));
    client
      .on('error', () => server.destroy())
      .pipe(server)
      .on('error', () => client.destroy())
      .pipe(client);
  });
  await new Promise<void>((resolve) => wire.listen(0, '127.0.0.1', resolve));
  // A listening TCP server always has an address with a port.
  const { port } = wire.address() as AddressInfo;
  const target = { host: '127.0.0.1', port, database: own.name, username: 'postgres' };
  db = openDatabase({ target, connections: 2, statementTimeout: 5_000, name: 'recorded' });
  gateway = await openTestGateway('demo', { ...own, db });
});
afterAll(async () => {
  await gateway.close();
  await db.close();
  await new Promise((resolve) => wire.close(resolve));
});

const recorded = (text: string): boolean => Buffer.concat(sent).includes(text);

it('MC-11 no bearer goes on to the store: of REST and every MCP method only its digest does', async () => {
  const { token } = await gateway.issue();
  sent.splice(0);
  await gateway.ask('/api/v1/context', { token });
  await gateway.ask('/api/v1/conversations?website_id=web_1_1&limit=1', { token });
  const conversations = { name: 'conversations_list', arguments: { website_id: 'web_1_1', limit: 1 } };
  const calls: [string, object?][] = [
    ['ping'],
    ['tools/list'],
    ['tools/call', conversations],
    ['tools/call', { name: 'ai_conversation_summary', arguments: { website_id: 'web_1_1' } }],
    ['resources/list'],
    ['resources/templates/list'],
    ['resources/read', { uri: 'gateway://config/web_1_1/ai/features' }],
    ['prompts/list'],
    ['prompts/get', { name: 'performance_summary', arguments: { website_id: 'web_1_1', range: 'today' } }],
  ];
  for (const [method, params] of calls) {
    expect((await rpc(gateway.port, token, method, params)).status, method).toBe(200);
  }
  // Prove that the test sees the statements of the calls with their parameters.
  expect(recorded('platform.conversation')).toBe(true);
  expect(recorded('ai_conversation_summary')).toBe(false);
  expect(recorded(token)).toBe(false);
  // Prove that the test would see a token in a statement.
  await db.query(sql`SELECT ${token}::text AS token`);
  expect(recorded(token)).toBe(true);
});
