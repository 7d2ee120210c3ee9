import { type Command, InvalidArgumentError } from 'commander';
import { openGivenKeys } from '../auth/key-file.ts';
import type { Keyring } from '../auth/keys.ts';
import { isBaseUrl } from '../config/values.ts';
import type { MoveSides } from '../store/cells/hold.ts';
import type { Moved, MovePlan } from '../store/cells/move.ts';
import { storeAddress } from './cells.ts';
import { confirm, irreversible } from './confirm.ts';
import type { CommandContext, RunAction } from './context.ts';
import { existingStore } from './existing-store.ts';
import { facts, plain, Refused, table } from './output.ts';
import { openProgress } from './progress.ts';
import { organization } from './references.ts';

interface MoveArguments {
  readonly to: string;
  readonly baseUrl?: string;
  readonly from?: string;
  readonly dryRun?: true;
  readonly abandon?: true;
  readonly keep: number;
}

/** Milliseconds of a statement that counts or sums all rows of an organization. */
const LONG = 3_600_000;

const OTHER_KEYS =
  'GATEWAY_KEYS cannot open what one of the two cells has encrypted. All cells must have the same GATEWAY_KEYS: run the command with those of the gateways, and see `gateway cells check`.';

export function moveCommand(group: Command, register: RunAction): void {
  const command = irreversible(
    group
      .command('move <ORG>')
      .description('move an organization to another cell; the same command again continues a move that was stopped')
      .requiredOption('--to <URL>', 'address of the PostgreSQL of the other cell, with a superuser', storeAddress)
      .option(
        '--base-url <URL>',
        'GATEWAY_BASE_URL of the other cell, required for a move: callers are told to go there',
        origin,
      )
      .option('--from <URL>', 'address of this PostgreSQL as the other one reaches it (default: DATABASE_URL)', address)
      .option('--dry-run', 'check everything, show the sizes, and make nothing')
      .option('--abandon', 'undo a move that has not ended: nothing of it stays at either side')
      .option(
        '--keep <DAYS>',
        'days until the rows and tokens here are deleted, 0 to 365; until then, callers get 421',
        days,
        7,
      ),
  );
  register(command, (context) => run(command, context));
}

async function run(command: Command, { out, store, config }: CommandContext): Promise<void> {
  const given = command.opts<MoveArguments>();
  existingStore(config);
  const here = config.directUrl ?? config.databaseUrl;
  if (here === undefined)
    throw new Refused(
      'An organization moves between PostgreSQL servers. Set DATABASE_URL; the embedded one cannot take part.',
    );
  const { db } = await store();
  const { tenant, id, name } = await organization(db, command.args[0] ?? '');
  const [{ openDatabase }, moves, { abandonMove }, { factsOfTarget }, { readSealed }] = await Promise.all([
    import('../store/driver/postgres.ts'),
    import('../store/cells/move.ts'),
    import('../store/cells/abandon.ts'),
    import('../store/cells/checks.ts'),
    import('../store/administration/cells.ts'),
  ]);
  const open: MoveSides['open'] = (side, part, timeout) =>
    openDatabase({
      ...{ target: side === 'source' ? here : given.to, primary: true },
      ...{ connections: 1, statementTimeout: timeout, name: `gateway-move-${part}` },
    });
  const [source, target] = [open('source', 'source', LONG), open('target', 'target', LONG)];
  let keys: Keyring | undefined;
  const sameKey = (one: string, other: string): boolean =>
    one === other || (keys !== undefined && keys.open('suppression', one) === keys.open('suppression', other));
  const sides: MoveSides = { tenant, source, target, open, sameKey, at: () => undefined };
  try {
    if (given.abandon === true) {
      await confirm(command, `Undo the move of ${plain(name)}? Its copy at the other cell is deleted.`);
      await abandonMove(sides);
      out.result(
        { organization_id: id, abandoned: true },
        `The move of ${plain(name)} is undone. It lives here, as before.`,
      );
      return;
    }
    await factsOfTarget(target);
    // A cell that has encrypted nothing yet cannot show which keys it has.
    const sealed = (await Promise.all([readSealed(source), readSealed(target)])).flat();
    if (sealed.length > 0) {
      keys = await openGivenKeys(config);
      if (sealed.some((one) => keys?.open(one.purpose, one.sealed) === undefined)) throw new Refused(OTHER_KEYS);
    }
    if (given.dryRun === true) {
      const plan = await moves.checkMove(sides);
      out.result(
        { organization_id: id, dry_run: true, ...planned(plan, moves.COPY_RATE) },
        planText(plan, moves.COPY_RATE),
      );
      return;
    }
    if (given.baseUrl === undefined)
      throw new Refused('--base-url must say where the organization is reached after the move.');
    if (new URL(given.baseUrl).origin === new URL(config.baseUrl).origin)
      throw new Refused('--base-url is the URL of this cell. Give that of the gateways of the other cell.');
    await confirm(
      command,
      `Move ${plain(name)} to ${given.baseUrl}? After its end, it can move back only when its rows here are deleted.`,
    );
    const progress = openProgress();
    const moved = await moves
      .moveOrganization({
        ...{ sides, from: asLibpq(given.from ?? here) },
        ...{ baseUrl: given.baseUrl, keepDays: given.keep },
        keepGiven: command.getOptionValueSource('keep') === 'cli',
        say: (line) => {
          progress.end();
          out.note(line);
        },
        progress: (done, total) => progress.show({ phase: 'copy', done, total }),
      })
      .finally(() => progress.end());
    if (moved.differences !== null && moved.differences.length > 0) process.exitCode = 1;
    out.result({ organization_id: id, ...documentOf(moved) }, text(name, moved));
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
}

const documentOf = ({ rows, bytes, copyMs, holdMs, differences, baseUrl, keepUntil }: Moved): object => ({
  ...{ base_url: baseUrl, rows, bytes, copy_ms: rounded(copyMs), hold_ms: rounded(holdMs) },
  ...{
    digests_equal: differences && differences.length === 0,
    differences,
    deleted_after: keepUntil?.toISOString() ?? null,
  },
});

const KEPT =
  'kept. Look at both sides, then run the command once more with --keep, and they are deleted after its days';

const rounded = (n: number | null): number | null => n && Math.round(n);
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

function text(name: string, { rows, bytes, copyMs, holdMs, differences, baseUrl, keepUntil }: Moved): string {
  const digests =
    differences === null
      ? 'not compared by this command'
      : differences.length === 0
        ? 'equal in all tables'
        : `DIFFERENT in ${differences.join(', ')}: keep the rows here, and look at both sides`;
  return `${plain(name)} lives at ${baseUrl} now.
${facts([
  ...(rows === null || bytes === null ? [] : [['rows', `${rows} (about ${megabytes(bytes)} here)`] as const]),
  ...(copyMs === null ? [] : [['copy', seconds(copyMs)] as const]),
  ...(holdMs === null ? [] : [['hold', seconds(holdMs)] as const]),
  ['digests', digests],
  ['rows here', keepUntil === null ? KEPT : `deleted after ${keepUntil.toISOString()}`],
])}
Gateways here answer its callers with 421 and the new URL. If the organization has a host of its own, let the proxy lead it to ${baseUrl}.`;
}

const planned = ({ sizes, rows, bytes }: MovePlan, rate: number): object => ({
  ...{ rows, bytes: Math.round(bytes), copy_seconds: Math.ceil(rows / rate) },
  tables: sizes.map((one) => ({ table: one.name, rows: one.rows, bytes: Math.round(one.bytes) })),
});

const planText = ({ sizes, rows, bytes }: MovePlan, rate: number): string =>
  `${table(
    ['TABLE', 'ROWS', 'SIZE'],
    sizes.filter((one) => one.rows > 0).map((one) => [one.name, String(one.rows), megabytes(one.bytes)]),
  )}
The move is possible: ${rows} rows, about ${megabytes(bytes)}, copied in about ${Math.ceil(rows / rate)} s. Nothing was made: this was a dry run.`;

/**
 * The address without the parameters that only the gateway knows. The target's PostgreSQL reads it. A statement_timeout of
 * the role would end each copy.
 */
function asLibpq(url: string): string {
  const [path = '', query = ''] = url.split('?');
  const kept = query
    .split('&')
    .filter((one) =>
      /^(ssl[a-z]*|target_session_attrs|connect_timeout|host|user|password|passfile|options)=/.test(one),
    );
  if (!kept.some((one) => one.startsWith('options='))) kept.push('options=-c%20statement_timeout%3D0');
  return `${path}?${kept.join('&')}`;
}

function address(value: string): string {
  if (!/^postgres(ql)?:\/\/./.test(value))
    throw new InvalidArgumentError('It must be an address such as postgres://user@host/database.');
  return value;
}

function origin(value: string): string {
  if (!isBaseUrl(value))
    throw new InvalidArgumentError(
      'It must be an https URL without a path, such as https://cell2.example.com. http is accepted on loopback only.',
    );
  return value.replace(/\/+$/, '');
}

function days(value: string): number {
  if (!/^\d{1,3}$/.test(value) || Number(value) > 365)
    throw new InvalidArgumentError('It must be a number of days from 0 to 365.');
  return Number(value);
}
