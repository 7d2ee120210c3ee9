import { randomInt, randomUUID } from 'node:crypto';
import autocannon from 'autocannon';
import { type Compared, median, ratios } from './report.ts';

const ROUNDS = 5;
const SECONDS = 1.5;
export const CONNECTIONS = 16;

let turn = 0;

/**
 * One kind of request. With a `body`, the request is a POST to the MCP endpoint. With `writes`, each request is
 * one of these writes, drawn at random, with a new idempotency key.
 */
export interface Target {
  readonly port: number;
  readonly path: string;
  readonly body?: string;
  readonly writes?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Tokens of several installations. The requests use them in turn, because an installation may start only 100 tasks in
   * 15 minutes and run five at once.
   */
  readonly installations?: readonly string[];
  readonly authorizations?: readonly string[];
}

interface Shot {
  readonly rate: number;
  readonly p99: number;
}

export async function shoot(
  { port, path, body, writes, installations, authorizations, headers }: Target,
  token: string,
  seconds: number,
  connections = CONNECTIONS,
): Promise<Shot> {
  const mcp = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const result = await autocannon({
    url: `http://127.0.0.1:${port}${path}`,
    connections,
    duration: seconds,
    headers: { authorization: `Bearer ${token}`, ...(body !== undefined && mcp), ...headers },
    ...(body !== undefined && { method: 'POST', body }),
    ...(writes && {
      requests: [
        {
          // Choose a website at random for each write, as real callers do. If all connections went through the websites
          // in the same order, they would all write on the same website at the same time.
          setupRequest: (request) => ({
            ...request,
            path: writes[randomInt(writes.length)] ?? path,
            headers: { ...request.headers, 'idempotency-key': randomUUID() },
          }),
        },
      ],
    }),
    ...(installations && {
      requests: [
        {
          setupRequest: (request) => ({
            ...request,
            body: (body ?? '').replace('MESSAGE', randomUUID()),
            headers: {
              ...request.headers,
              'a2a-version': '1.0',
              authorization: `Bearer ${installations[turn++ % installations.length]}`,
            },
          }),
        },
      ],
    }),
    ...(authorizations && {
      requests: [
        {
          setupRequest: (request) => ({
            ...request,
            headers: { ...request.headers, authorization: authorizations[turn++ % authorizations.length] },
          }),
        },
      ],
    }),
    ...(path === '/a2a' && { verifyBody: (text) => String(text).includes('TASK_STATE_COMPLETED') }),
    // Over MCP, a failed tool call also has HTTP status 200.
    ...(path === '/mcp' && { verifyBody: (text) => String(text).includes('"isError":false') }),
  });
  const { non2xx, errors, mismatches } = result;
  if (non2xx + errors + mismatches > 0)
    throw new Error(`${path}: ${non2xx} not 2xx, ${errors} errors, ${mismatches} failed calls`);
  return { rate: result.requests.average, p99: result.latency.p99 };
}

interface Shots {
  /** Alternates between the gateway and another program, and prints the ratio of their rates. */
  compare(name: string, ours: Target, other: Target, token: string, against?: string): Promise<void>;
  /** Prints the rate of the gateway alone. */
  measure(name: string, target: Target): Promise<void>;
  /** How many names contain `only`. */
  readonly chosen: number;
}

/** Shoots at targets whose names contain `only`, and adds each comparison to `compared`. */
export function openShots(only: string, compared: Compared[], print: (line: string) => void): Shots {
  let chosen = 0;
  return {
    get chosen() {
      return chosen;
    },
    async compare(name, target, other, token, against) {
      if (!name.includes(only)) return;
      chosen++;
      const [ours, peer]: [Shot[], Shot[]] = [[], []];
      await shoot(target, token, 1);
      await shoot(other, token, 1);
      for (let round = 0; round < ROUNDS; round++) {
        ours.push(await shoot(target, token, SECONDS));
        peer.push(await shoot(other, token, SECONDS));
      }
      const [rates, p99] = [
        (all: Shot[]) => all.map(({ rate }) => rate),
        (all: Shot[]) => median(all.map((one) => one.p99)),
      ];
      const figures = { name, against, ours: rates(ours), peer: rates(peer), p99: [p99(ours), p99(peer)] as const };
      compared.push(figures);
      const each = ratios(figures);
      print(
        `${name.padEnd(24)} ours ${String(Math.round(median(figures.ours))).padStart(6)}/s` +
          `  peer ${String(Math.round(median(figures.peer))).padStart(6)}/s` +
          `  ratio ${median(each).toFixed(2)} (${Math.min(...each).toFixed(2)} to ${Math.max(...each).toFixed(2)})` +
          `  p99 ${figures.p99[0]} ms / ${figures.p99[1]} ms`,
      );
    },
    async measure(name, target) {
      if (!name.includes(only)) return;
      chosen++;
      const shots: Shot[] = [];
      await shoot(target, '', 1);
      for (let round = 0; round < ROUNDS; round++) shots.push(await shoot(target, '', SECONDS));
      const rates = shots.map(({ rate }) => Math.round(rate));
      print(
        `${name.padEnd(24)} ours ${String(median(rates)).padStart(6)}/s (${Math.min(...rates)} to ${Math.max(...rates)})` +
          `  p99 ${median(shots.map((one) => one.p99))} ms`,
      );
    },
  };
}
