import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Failure } from '../../../src/core/failures.ts';
import { bearerOf, refuseAmbiguous } from '../../../src/surfaces/http/request.ts';
import { readConditions } from '../../../src/surfaces/rest/bytes.ts';
import { readInput } from '../../../src/surfaces/rest/input.ts';
import { routesOf } from '../../../src/surfaces/rest/routes.ts';
import { pageStartOf, pageTokenOf } from '../../../src/tasks/page-token.ts';
import { openTestGateway, type TestGateway } from '../../support/gateway.ts';
import { basic, newClient, post } from '../../support/oauth/oauth.ts';
import { seed } from '../../support/surfaces/generated.ts';
import { examples, writer } from '../../support/surfaces/wire.ts';

/**
 * Tests the parsers of single parts of a request. fuzz.test.ts generates whole requests. FC_SEED repeats a failed run.
 */
process.stderr.write(`properties of the REST surface: FC_SEED=${seed}\n`);

let gateway: TestGateway;
let token: string;
let url: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  ({ token } = await writer(gateway));
  url = (await examples(gateway)).find(({ tool }) => tool.name === 'file_content')?.url ?? '';
});
afterAll(() => gateway.close());

function incoming(headers: Record<string, string>, rawHeaders: string[] = []): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  Object.assign(message.headers, headers);
  message.rawHeaders.push(...rawHeaders);
  return message;
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: fc.constantFrom('%', '&', '=', '+', '[', ']', 'a', '0', 'F', '\0', '\ud800', '/', '.', ';') }),
);

describe('parsers', () => {
  it('the query parser never throws and gives declared parameters only', () => {
    const { tools } = gateway.corridor.registry;
    const piece = fc.tuple(fc.oneof(anyText, fc.constantFrom('limit', 'website_id', 'cursor', 'query')), anyText);
    const query = fc.oneof(
      anyText,
      fc.array(piece).map((all) => all.map(([name, value]) => `${name}=${value}`).join('&')),
    );
    fc.assert(
      fc.property(fc.constantFrom(...tools), query, (tool, text) => {
        const { input, problems } = readInput(tool, {}, text);
        expect(Object.getPrototypeOf(input)).toBe(Object.prototype);
        for (const name of Object.keys(input))
          expect(tool.parameters.some((one) => one.in === 'query' && one.name === name)).toBe(true);
        const pieces = text === '' ? 0 : text.split('&').length;
        expect(Object.keys(input).length + problems.length).toBe(pieces);
      }),
      { seed, numRuns: 3_000 },
    );
  });

  it('the path matcher never throws and finds a path only under its own spelling', () => {
    const { registry } = gateway.corridor;
    const find = routesOf(registry);
    const near = fc.constantFrom(...registry.tools).chain(({ path }) =>
      fc.tuple(fc.nat(path.length), anyText, fc.boolean()).map(([at, text, instead]) => {
        const filled = path.replace(/\{\w+\}/g, 'x_1');
        return filled.slice(0, at) + text + filled.slice(instead ? at + text.length : at);
      }),
    );
    fc.assert(
      fc.property(fc.oneof(anyText, near), (path) => {
        const match = find(path);
        if (!match) return;
        const [tool] = [...match.methods.values()];
        const spelled = Object.entries(match.path).reduce((text, [name, value]) => {
          expect(value).toMatch(/^[A-Za-z0-9_-]+$/);
          return text.replace(`{${name}}`, value);
        }, tool?.path ?? '');
        expect(spelled).toBe(path);
      }),
      { seed, numRuns: 5_000 },
    );
    for (const { path, method, name } of registry.tools)
      expect(find(path.replace(/\{\w+\}/g, 'x'))?.methods.get(method)?.name).toBe(name);
  });

  it('Range, If-Match and Authorization are read or refused, never thrown over', () => {
    const range = fc.oneof(anyText, fc.stringMatching(/^(bytes|items)?=?[0-9,\- ]{0,30}$/));
    const match = fc.oneof(anyText, fc.stringMatching(/^(W\/)?"[a-f0-9*",]{0,70}"?$/));
    const authorization = fc.oneof(anyText, fc.stringMatching(/^[Bb]earer [ -~]{0,60}$/));
    fc.assert(
      fc.property(range, match, authorization, (one, two, three) => {
        const request = incoming({ range: one, 'if-match': two, authorization: three });
        const { bytes, problems } = readConditions(request, true, {});
        expect(Number('range' in bytes) + Number('ifMatch' in bytes) + problems.length).toBe(2);
        for (const value of Object.values(bytes.range ?? {}))
          expect(value === undefined || (Number.isInteger(value) && value >= 0)).toBe(true);
        const bearer = bearerOf(request);
        if (bearer !== undefined) expect(three.slice(6).replace(/^ +/, '')).toBe(bearer);
      }),
      { seed, numRuns: 3_000 },
    );
  });

  it('repeated headers are a Failure of 400 or nothing', () => {
    const name = fc.constantFrom('Host', 'HOST', 'range', 'Authorization', 'accept', 'x', '__proto__', 'constructor');
    fc.assert(
      fc.property(fc.array(fc.tuple(name, anyText), { maxLength: 8 }), (pairs) => {
        const names = pairs.map(([one]) => one.toLowerCase());
        const single = names.filter((one) => ['host', 'range', 'authorization'].includes(one));
        const repeated = new Set(single).size < single.length;
        let refused: unknown;
        try {
          refuseAmbiguous(incoming({ host: 'a' }, pairs.flat()));
        } catch (error) {
          refused = error;
        }
        expect(refused instanceof Failure && refused.code === 'duplicate_parameter').toBe(repeated);
        expect(refused === undefined).toBe(!repeated);
      }),
      { seed, numRuns: 1_000 },
    );
  });

  it('whatever stands in Range, If-Match, Accept and Authorization, the answer is a documented one', async () => {
    const sendable = fc
      .oneof(anyText, fc.stringMatching(/^[ -~]{0,40}$/))
      .map((text) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, ''));
    const accept = fc.oneof(
      sendable,
      fc.constantFrom(
        'application/octet-stream',
        '*/*',
        'application/octet-stream;q=0.5, application/json;q=0.4',
        'a/b;q=x',
      ),
    );
    const range = fc.oneof(sendable, fc.stringMatching(/^bytes=[0-9]{0,6}-[0-9]{0,6}$/));
    await fc.assert(
      fc.asyncProperty(
        fc.record({ accept, range, 'if-match': sendable, authorization: sendable }, { requiredKeys: [] }),
        async (headers) => {
          const answer = await gateway.ask(url, { token, headers });
          expect([200, 206, 400, 401, 406, 412, 416]).toContain(answer.status);
        },
      ),
      { seed, numRuns: 300 },
    );
  });

  it('a page token of A2A is read as it was written, for its own list and key, and no other text is one', () => {
    const [key, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const refused = (of: Uint8Array, list: string, text: string): void => {
      expect(() => pageStartOf(of, list, text), text).toThrow(expect.objectContaining({ code: 'invalid_cursor' }));
    };
    const place = fc.record({ at: fc.nat(), id: fc.stringMatching(/^task_[a-f0-9]{32}$/) });
    fc.assert(
      fc.property(place, fc.string(), anyText, fc.nat(), (one, list, text, at) => {
        const token = pageTokenOf(key, list, one);
        expect(pageStartOf(key, list, token)).toEqual(one);
        refused(other, list, token);
        refused(key, `${list}x`, token);
        refused(key, list, text);
        const i = at % token.length;
        for (const changed of [
          token.slice(0, i),
          token.slice(0, i) + (token[i] === 'A' ? 'B' : 'A') + token.slice(i + 1),
        ])
          refused(key, list, changed);
      }),
      { seed, numRuns: 500 },
    );
  });
  const sameBytes = (one: string, two: string): boolean =>
    Buffer.from(one, 'base64url').equals(Buffer.from(two, 'base64url'));

  it('Basic is read as two form-encoded texts, whatever they hold, or refused as invalid_client', async () => {
    const client = await newClient(gateway);
    const good = basic(client);
    let failed = 0;
    const encoded = (text: string): string => Buffer.from(text, 'latin1').toString('base64');
    const header = fc
      .oneof(
        anyText.map((text) => `Basic ${encoded(text)}`),
        fc.tuple(anyText, anyText).map(([one, two]) => `basic ${encoded(`${one}:${two}`)}`),
        anyText.map((text) => `Basic ${text}`),
        fc.nat(good.length - 1).map((i) => good.slice(0, i)),
        fc.string({ unit: 'grapheme-ascii' }).map((text) => `${good}${text}`),
        anyText,
      )
      .map((text) => text.replace(/[^\t\x20-\x7e\x80-\xff]/g, ''))
      // Leave out headers that differ from the valid header only in white space or padding, because these are valid
      // too.
      .filter((text) => !sameBytes(text.trim().slice('Basic '.length), good.slice('Basic '.length)));
    await fc.assert(
      fc.asyncProperty(header, async (authorization) => {
        const { status, body } = await post(gateway, '/oauth/revoke', { token: 'x' }, { authorization });
        // Only the first sixty failures of a minute learn the real reason (RL-03). Later failures can get 429.
        const slow = ++failed > 60 && status === 429;
        expect([status, body.error], authorization).toEqual(slow ? [429, 'slow_down'] : [401, 'invalid_client']);
      }),
      { seed, numRuns: 60 },
    );
    expect((await post(gateway, '/oauth/revoke', { token: 'x' }, { authorization: good })).status).toBe(200);
  });
});
