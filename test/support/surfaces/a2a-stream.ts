import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';

/** One answer of an endpoint as it arrives: server-sent events, or the text of another answer. */
export interface OpenStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: an event is JSON, and each test names the members that it reads
  readonly events: any[];
  comments(): number;
  text(): string;
  /** Resolves when the answer is over. True if the server has ended it in order. */
  readonly ended: Promise<boolean>;
  pause(): void;
  close(): void;
}

/** Sends a message and resolves with the head of its answer. */
export function openStream(
  port: number,
  token: string,
  method: string,
  params: unknown,
  headers: Readonly<Record<string, string>> = { 'a2a-version': '1.0' },
): Promise<OpenStream> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params });
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      ...{ port, path: '/a2a', method: 'POST', agent: false },
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
        ...headers,
      },
    });
    request.on('error', reject).end(body);
    request.on('response', (response) => {
      const events: unknown[] = [];
      let [text, comments, rest] = ['', 0, ''];
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        const frames = (rest + part).split('\n\n');
        rest = frames.pop() ?? '';
        for (const frame of frames)
          if (frame.startsWith('data: ')) events.push(JSON.parse(frame.slice(6)));
          else comments++;
      });
      response.on('error', () => undefined);
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        events,
        comments: () => comments,
        text: () => text,
        ended: new Promise((over) => response.on('close', () => over(response.complete))),
        pause: () => void response.pause(),
        close: () => void request.destroy(),
      });
    });
  });
}
