import pino from 'pino';
import type { Browser } from 'playwright-core';
import { GUIDE_NAMES } from '../../../src/core/guides.ts';
import { readGuides } from '../../../src/gateway/guides.ts';
import { loadSkills, loadTools } from '../../../src/gateway/load.ts';
import type { Registry } from '../../../src/gateway/registry.ts';
import { docsPages } from '../../../src/surfaces/docs/docs.ts';
import { addressOf } from '../../../src/surfaces/docs/reference/words.ts';
import { publicApp } from '../../../src/surfaces/http/app.ts';
import { startServer } from '../../../src/surfaces/http/server.ts';
import { openapi } from '../../../src/surfaces/openapi/openapi.ts';
import { openVisit, type View, type Visit } from './browser.ts';

const BASE_URL = 'http://127.0.0.1:8420';

export interface Pages {
  readonly registry: Registry;
  readonly port: number;
  readonly origin: string;
  readonly paths: readonly string[];
  get(path: string, init?: RequestInit): Promise<Response>;
  /** Opens a page in a new browser context, which closes at the end. */
  visit<T>(browser: Browser, view: View, path: string, act: (visit: Visit) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export async function servePages(): Promise<Pages> {
  const registry = await loadTools();
  const server = await startServer({
    host: '127.0.0.1',
    baseUrl: BASE_URL,
    port: 0,
    tls: undefined,
    log: pino({ level: 'silent' }),
    handlers: [],
    otherwise: publicApp({
      baseUrl: BASE_URL,
      openapi: () => openapi(registry, BASE_URL),
      llms: () => ({ index: '# index', full: '# full' }),
      docs: async () =>
        docsPages({
          baseUrl: BASE_URL,
          registry,
          skills: await loadSkills(registry),
          guides: readGuides(),
          version: '1.2.3',
        }),
      ready: async () => true,
    }),
  });
  const origin = `http://127.0.0.1:${server.port}`;
  return {
    registry,
    port: server.port,
    origin,
    paths: [
      ...['/docs', '/docs/clients', '/docs/errors', '/docs/scopes', '/docs/limits', '/docs/reference'],
      ...GUIDE_NAMES.map((name) => `/docs/guides/${name}`),
      ...registry.operations.map(addressOf),
    ],
    get: (path, init = {}) => fetch(origin + path, { redirect: 'manual', ...init }),
    visit: async (browser, view, path, act) => {
      const one = await openVisit(browser, origin, view);
      try {
        await one.page.goto(origin + path);
        return await act(one);
      } finally {
        await one.close();
      }
    },
    close: () => server.close(),
  };
}

/** A page as a reader sees it: without tags, and with the characters of entities. */
export const textOf = (page: string): string =>
  page
    .replace(/<(script|style)\b.*?<\/\1>/gs, '')
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&#x27;', "'")
    .replaceAll('&amp;', '&');
