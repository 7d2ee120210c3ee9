import { request as httpRequest, type IncomingHttpHeaders, type RequestOptions } from 'node:http';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly bytes: Buffer;
  // The oracle checks each body against the served OpenAPI document before a test reads the body.
  // biome-ignore lint/suspicious/noExplicitAny: a test reads members of a body that the oracle has checked
  readonly body: any;
}

export function exchange(options: RequestOptions, body?: string | Uint8Array): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', ...options }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(parts);
        const text = bytes.toString('utf8');
        const json = /(?<!nd)json/.test(response.headers['content-type'] ?? '') && text !== '';
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          bytes,
          body: json ? JSON.parse(text) : undefined,
        });
      });
    });
    request.on('error', reject);
    request.end(body);
  });
}
