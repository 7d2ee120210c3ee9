import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

/**
 * Prints each received webhook as one JSON line. If WEBHOOK_SECRET is set, also checks its signature (Standard
 * Webhooks).
 */
const secret = process.env.WEBHOOK_SECRET ?? '';
const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');

function signed(headers, body) {
  if (secret === '') return null;
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const expected = createHmac('sha256', key).update(content).digest();
  return String(headers['webhook-signature'])
    .split(' ')
    .map((one) => Buffer.from(one.replace(/^v1,/, ''), 'base64'))
    .some((one) => one.length === expected.length && timingSafeEqual(one, expected));
}

const server = createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    const body = Buffer.concat(parts).toString();
    const ok = signed(request.headers, body);
    const { 'webhook-id': id, 'webhook-timestamp': timestamp } = request.headers;
    process.stdout.write(`${JSON.stringify({ method: request.method, id, timestamp, signed: ok, body })}\n`);
    response.writeHead(ok === false ? 401 : 200).end();
  });
});
server.listen(Number(process.env.PORT ?? 9000), process.env.HOST ?? '0.0.0.0');
process.once('SIGTERM', () => server.close());
