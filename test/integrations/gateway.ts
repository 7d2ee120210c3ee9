import { afterAll, beforeAll } from 'vitest';
import { issue } from '../support/credentials.ts';
import { type Served, serve } from '../support/hostile/served.ts';

/** The report call that each test sends: first with a wrong `range`, then with a value that the error names. */
export const REPORT = 'ai_conversation_summary';
export const WRONG = { website_id: 'web_1_1', range: 'yesterday' };
/** What the gateway says about the wrong call. The model of each client must be able to read this sentence. */
export const SAID =
  'Invalid parameters: range (invalid_parameter). Expected for range: one of today, last-7-days, last-month, date.';

/** Corrects the wrong call as a model would: from the text that the model reads, and from nothing else. */
export function corrected(text: string): { website_id: string; range: string } {
  const [, range = 'none'] = /Expected for range: one of ([\w-]+)/.exec(text) ?? [];
  return { ...WRONG, range };
}

/** The number of MCP tools. */
export const TOOLS = 52;

/** A gateway process with the demo, and a token for its first organization. Starts once for each test file. */
export function servedGateway(): { readonly url: string; readonly headers: { Authorization: string } } {
  let served: Served;
  let token: string;
  beforeAll(async () => {
    served = await serve();
    ({ token } = await issue(served.database.sql, 1, { authors: ['opr_1_1_1'] }));
  });
  afterAll(() => served?.close());
  return {
    get url() {
      return served.url;
    },
    get headers() {
      return { Authorization: `Bearer ${token}` };
    },
  };
}
