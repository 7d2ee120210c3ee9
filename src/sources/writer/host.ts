import type { MessagePort } from 'node:worker_threads';
import type { Helpdesk } from '../helpdesk.ts';
import type { ApiOfSource, SourceKind } from '../kinds.ts';
import { type Abort, secretsIn, sent, type ThreadCall, ThreadPulse, type ThreadReply } from '../thread/protocol.ts';

/** What a writer thread gets at its start. It contains secrets, so it stays in this process. */
export interface WriterOpening {
  readonly kind: SourceKind;
  readonly settings: ApiOfSource;
  readonly memory: SharedArrayBuffer;
}

/** The calls of a writer. `ready` gets an answer when the thread has started. */
export type WriterMethod = keyof Helpdesk | 'ready';

/** Answers the calls of the main thread from this helpdesk. */
export function hostWriter(desk: Helpdesk, port: MessagePort, { settings, memory }: WriterOpening): void {
  const pulse = new ThreadPulse(memory);
  const secrets = secretsIn(settings.address, settings.token);
  const underWay = new Map<number, AbortController>();
  pulse.start();
  const answer = async ({ method, args }: ThreadCall<WriterMethod>, signal: AbortSignal): Promise<unknown> => {
    if (method === 'ready') return undefined;
    // The main thread sends arguments of the types in the interface Helpdesk. Each method takes the signal last.
    return (desk[method] as (...given: readonly unknown[]) => Promise<unknown>)(...args, signal);
  };
  const post = (reply: ThreadReply): void => port.postMessage(reply);
  port.on('message', (call: ThreadCall<WriterMethod> | Abort) => {
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
