/**
 * The refusals of MCP events, a closed table: the name of each error and its sentence for the client. The surface knows
 * the codes, which differ between the texts of the extension.
 */
const REFUSALS = {
  InvalidParams: 'A parameter has a wrong value.',
  NotFound: 'There is no such event or subscription.',
  Forbidden: 'The token may not subscribe to these events.',
  ResourceExhausted: 'A limit is reached. data.limit names it.',
  Unsupported: 'The gateway does not offer this. data.feature names it.',
} as const;

export type RefusalName = keyof typeof REFUSALS;

export interface EventsRefusal {
  readonly refused: RefusalName;
  readonly message: string;
  readonly data?: Readonly<Record<string, string | number>>;
}

export const refused = (name: RefusalName, data?: EventsRefusal['data']): EventsRefusal => ({
  refused: name,
  message: REFUSALS[name],
  ...(data && { data }),
});
