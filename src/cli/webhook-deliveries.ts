import { type Command, Option } from 'commander';
import { deliveryDocument, replayWebhook, type Tested, testWebhook } from '../events/webhooks/administration.ts';
import { DELIVERY_STATUSES, type DeliveryStatus, readDeliveries } from '../store/administration/endpoints.ts';
import type { RunAction } from './context.ts';
import { moment } from './options.ts';
import { Refused } from './output.ts';
import { webhookDoor } from './webhook-door.ts';
import { deliveryTable, endpoint, ownEndpoint, testDocument } from './webhook-view.ts';

/** The commands about the deliveries of one webhook. */
export function deliveryCommands(group: Command, register: RunAction): void {
  testCommand(group, register);
  replayCommand(group, register);
  deliveriesCommand(group, register);
}

function testCommand(group: Command, register: RunAction): void {
  const command = group
    .command('test <WHK>')
    .description('send one heartbeat, marked as a test, now; exit code 1 if the receiver does not accept it');
  register(command, async ({ out, store, config }) => {
    const { db } = await store();
    const record = await ownEndpoint(db, command.args[0] ?? '');
    const { accepted, ...tested } = await testWebhook(webhookDoor(db, config), record);
    out.result(
      testDocument(record, { accepted, ...tested }),
      accepted ? 'The receiver accepted the test.' : `The receiver did not accept the test${causeOf(tested)}.`,
    );
    if (!accepted) process.exitCode = 1;
  });
}

/** As the log of deliveries says it (webhook-view.ts). */
function causeOf({ status, error }: Pick<Tested, 'status' | 'error'>): string {
  const told = [...(status === null ? [] : [`status ${status}`]), ...(error === null ? [] : [error])];
  return told.length === 0 ? '' : `: ${told.join(', ')}`;
}

/** Milliseconds by which the clock of this machine may be behind that of the store. */
const CLOCKS = 60_000;

function replayCommand(group: Command, register: RunAction): void {
  const command = group
    .command('replay <WHK>')
    .description('deliver receipts of the last seven days again, or for the first time')
    .addOption(new Option('--event <EVT>', 'id of one receipt to deliver').conflicts(['since', 'until']))
    .option('--since <TIME>', 'deliver receipts recorded at or after this time, RFC 3339', moment)
    .option('--until <TIME>', 'deliver receipts recorded before this time, RFC 3339 (default: now)', moment);
  register(command, async ({ out, store }) => {
    const { event, since, until } = command.opts<{ event?: string; since?: Date; until?: Date }>();
    if (event === undefined && since === undefined) {
      command.error("error: one of '--event <EVT>' and '--since <TIME>' is required");
    }
    if (since && until && since >= until) throw new Refused('The time of --until must be after that of --since.');
    if (since && since.getTime() > Date.now() + CLOCKS)
      throw new Refused('The time of --since is in the future. Nothing has been recorded after it.');
    const { db } = await store();
    const record = await ownEndpoint(db, command.args[0] ?? '');
    const which = event === undefined ? { since: since ?? new Date(0), until: until ?? null } : { event };
    const { found, queued, truncated } = await replayWebhook({ db }, record, which);
    out.result(
      { endpoint_id: record.id, found, queued, truncated },
      `${queued} deliveries are queued${truncated ? '. There may be more receipts: repeat with a later --since' : ''}.`,
    );
  });
}

const SHOWN = 1_000;

function deliveriesCommand(group: Command, register: RunAction): void {
  const command = group
    .command('deliveries <WHK>')
    .description(`list the latest ${SHOWN} deliveries, newest first; the log is kept for seven days`)
    .addOption(new Option('--status <S>', 'list only deliveries with this status').choices(DELIVERY_STATUSES));
  register(command, async ({ out, store }) => {
    const { status } = command.opts<{ status?: DeliveryStatus }>();
    const { db } = await store();
    const { id } = await endpoint(db, command.args[0] ?? '');
    const deliveries = await readDeliveries(db, id, status, SHOWN);
    out.result(
      { endpoint_id: id, deliveries: deliveries.map(deliveryDocument) },
      deliveryTable(deliveries, `There is no delivery${status === undefined ? '' : ` with the status ${status}`}.`),
    );
  });
}
