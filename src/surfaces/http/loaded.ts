import { once } from '../../flow/once.ts';
import type { RequestHandler } from './records.ts';
import { atEndpoint } from './request.ts';

/** A surface with one path, whose modules are loaded at the first request for this path. */
export function loadedAt(path: string, load: () => Promise<RequestHandler>): RequestHandler {
  const loaded = once(load);
  return (request, response, context) => {
    if (atEndpoint(request, path)?.below !== '') return false;
    return loaded().then(async (handler) => void (await handler(request, response, context)));
  };
}
