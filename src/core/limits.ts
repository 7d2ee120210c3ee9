/** The largest body of a request, in bytes. */
export const BODY_BYTES = 65_536;
/** The price of an operation covers this many bytes of the answer. A longer answer costs more. */
export const PLAIN_BYTES = 131_072;
/** The largest artifact of an A2A task, in bytes. */
export const ARTIFACT_BYTES = 131_072;
/** Access tokens that a client gets in a minute without a person’s consent. */
export const TOKENS_PER_MINUTE = 60;
/** Records on a page, at most. */
export const PAGE_RECORDS = 100;

/** The limits of the gateway, for the documentation. A limit without a constant is in the contract. */
export const PUBLIC_LIMITS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Quota: {
    'Units of an app, for REST, MCP and A2A together':
      '600 a minute, at most 120 at once. The operator of the gateway can set others',
    'Cost of a request': '1 unit, or what the operation says in the reference',
    'Cost of a long answer over REST and MCP': `1 unit more for each started ${PLAIN_BYTES / 1_024} KiB after the first`,
    'Cost of an A2A request': '1 unit, and 1 more if it sets a task to work',
    'Access tokens by client credentials': `${TOKENS_PER_MINUTE} a minute for each client`,
  },
  'Requests and answers': {
    'Body of a request': `${BODY_BYTES / 1_024} KiB, over REST, MCP and A2A`,
    JSON: '32 levels, and 1,000 members in all',
    'Records on a page': `1 to ${PAGE_RECORDS}. Of search and customer_find, 1 to 50`,
    'Text of a message or a note': '32,768 characters. A longer text is cut, and the answer says so',
    'Text of fetch': '64 KiB. The newest messages are kept',
    'Chunk of a file': '64 KiB',
    'Text of a saved response': '32,768 characters',
    'Query of a search': '400 characters',
    'Days of a report': '31',
    'Groups of a count': '100',
    MCP: 'no batch, no query string',
  },
  Writes: {
    'Idempotency-Key': '1 to 128 characters',
    'Result of a write': 'kept for 24 hours. Then the key stays used for ever',
    'Text of a visitor note': '1 to 4,000 UTF-16 code units',
    Disposition: '1 to 200 UTF-16 code units',
    'Text for an AI feature': '1 to 4,000 characters',
  },
  Events: {
    Subscriptions: '20 for each installation',
    'Websites of a subscription': '50',
    'Events of a pull': '1 to 100, by default 25',
    'Cursor of a pull': '12,000 characters',
    'Deliveries of a webhook': 'at most 5 attempts. A replay reaches 7 days back',
  },
  'A2A tasks': {
    'Life of a task': '15 minutes, or until the credential expires',
    'Tasks that have not expired': '100 for each installation, of which 5 run',
    Artifact: `${ARTIFACT_BYTES / 1_024} KiB`,
    'Texts of a task': 'the newest 20, at most 64 KiB',
    Streams: '20 for each credential, and 1,000 for each process of the gateway',
  },
  OAuth: {
    'Authorization code': '60 seconds',
    'Access token': '15 minutes',
    'Consent for an installed client': '8 hours. It ends after 1 hour without use',
    'Consent for a client by URL': '8 hours to 90 days, as the person chooses',
    'Redirect addresses': '10 for each client',
  },
};
