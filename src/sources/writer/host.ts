import type { MessagePort } from 'node:worker_threads';
import type { Helpdesk } from '../helpdesk.ts';
import type { ApiOfSource, SourceKind } from '../kinds.ts';
import { type Abort, type Call, Pulse, type Reply, secretsOf, sent } from '../thread/protocol.ts';

/** What a thread needs to write to a helpdesk. It holds secrets, so it stays in this process. */
export interface WriterOpening {
  readonly kind: SourceKind;
  readonly settings: ApiOfSource;
  readonly memory: SharedArrayBuffer;
}

/** What a writer is asked. `ready` says that the thread has started. */
export type WriterMethod = keyof Helpdesk | 'ready';

/** What no error may tell. */
export const secretsIn = ({ address, token }: ApiOfSource): string[] =>
  [...secretsOf(address), token].filter((secret) => secret !== '');

/** Answers the calls of the other thread with this helpdesk. */
export function hostWriter(desk: Helpdesk, port: MessagePort, { settings, memory }: WriterOpening): void {
  const pulse = new Pulse(memory);
  const secrets = secretsIn(settings);
  const underWay = new Map<number, AbortController>();
  pulse.start();
  const answer = async ({ method, args }: Call<WriterMethod>, signal: AbortSignal): Promise<unknown> => {
    if (method === 'ready') return undefined;
    // The other thread sends what the interface of Helpdesk says. Each method takes the signal last.
    return (desk[method] as (...given: readonly unknown[]) => Promise<unknown>)(...args, signal);
  };
  const post = (reply: Reply): void => port.postMessage(reply);
  port.on('message', (call: Call<WriterMethod> | Abort) => {
    if ('abort' in call) return underWay.get(call.id)?.abort();
    const { id } = call;
    const aborter = new AbortController();
    underWay.set(id, aborter);
    answer(call, aborter.signal)
      .then((value) => post({ id, answer: value }))
      .catch((error: unknown) => post({ id, error: sent(error, secrets) }))
      .finally(() => underWay.delete(id));
  });
}
