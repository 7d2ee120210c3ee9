import { type Command, InvalidArgumentError, Option } from 'commander';
import { newId } from '../auth/issue.ts';
import { openGivenKeys } from '../config/keys.ts';
import { EVENT_FAMILIES, EVENT_TYPE } from '../core/events.ts';
import { receiverOf } from '../events/webhooks/receivers.ts';
import { AddressRefused, checkedAddresses, resolveName } from '../events/webhooks/resolve.ts';
import { newWebhookSecret } from '../events/webhooks/signature.ts';
import type { CredentialRecord } from '../store/administration/credentials.ts';
import {
  DELIVERY_STATUSES,
  type DeliveryStatus,
  deleteEndpoint,
  type EndpointRecord,
  insertEndpoint,
  REPLAYED_MAX,
  readDeliveries,
  readEndpoints,
  replayDeliveries,
  rotateEndpoint,
  updateEndpoint,
} from '../store/administration/endpoints.ts';
import { openLedgerKey } from '../store/calls/ledger.ts';
import type { Database } from '../store/driver/postgres.ts';
import type { CommandContext, Run } from './context.ts';
import { credential } from './credential.ts';
import { DAY, duration, moment } from './options.ts';
import { Refused } from './output.ts';
import { website } from './references.ts';
import { plain } from './text.ts';
import { testEndpoint } from './webhook-test.ts';
import { deliveryDocument, deliveryTable, endpointDocument, endpointTable, endpointText } from './webhook-view.ts';

/** `gateway webhook …`: receivers to which a website's changes are pushed (decisions, sections 15 and 23). */
export function webhookCommands(program: Command, register: Run): void {
  const group = program.command('webhook').description('receivers to which the changes of a website are pushed');
  createCommand(group, register);
  listCommand(group, register);
  updateCommand(group, register);
  rotateCommand(group, register);
  testCommand(group, register);
  replayCommand(group, register);
  deliveriesCommand(group, register);
  deleteCommand(group, register);
}

const EVENT_TYPES_MAX = 35;
const DESCRIPTION_MAX = 240;
const ALL_TYPES = EVENT_FAMILIES.map((family) => `${family}.*`);

function eventType(value: string, before: readonly string[] | undefined): string[] {
  if (!EVENT_TYPE.test(value)) {
    throw new InvalidArgumentError(
      'An event type is exact, such as conversation.changed, or a family: conversation.*.',
    );
  }
  const all = [...new Set([...(before ?? []), value])];
  if (all.length > EVENT_TYPES_MAX) throw new InvalidArgumentError(`There are at most ${EVENT_TYPES_MAX} event types.`);
  return all;
}

function description(value: string): string {
  if (value.length > DESCRIPTION_MAX || /[\p{Cc}\p{Surrogate}]/u.test(value)) {
    throw new InvalidArgumentError(`A description has at most ${DESCRIPTION_MAX} printable characters.`);
  }
  return value;
}

interface EndpointOptions {
  readonly credential?: string;
  readonly website?: string;
  readonly url?: string;
  readonly eventType?: string[];
  readonly description?: string;
}

const endpointOptions = (command: Command): Command =>
  command
    .option('--event-type <T>', 'exact type, or a family such as conversation.*; repeated; all where absent', eventType)
    .option('--description <D>', 'what it is for', description);

function createCommand(group: Command, register: Run): void {
  const command = endpointOptions(
    group
      .command('create')
      .description('push the changes of a website to a receiver; the signing secret is shown this once')
      .requiredOption('--credential <CRD>', 'the credential under which it is told')
      .requiredOption('--website <WEB>', 'the website, by id or external_id')
      .requiredOption('--url <URL>', 'the receiver’s https address, on port 443 or 8443'),
  );
  register(command, async (context) => {
    const { out, store, config } = context;
    const given = command.opts<EndpointOptions & { credential: string; website: string; url: string }>();
    const { db } = await store();
    const owner = await usable(db, given.credential);
    const site = await website(db, given.website, owner.tenant);
    const url = await receiver(context, given.url);
    const secret = newWebhookSecret();
    const keys = await openGivenKeys(config);
    const made = await insertEndpoint(db, {
      id: newId('whk'),
      credential: owner.id,
      tenant: site.tenant,
      site: site.site,
      url,
      eventTypes: given.eventType ?? ALL_TYPES,
      description: given.description ?? '',
      secret: keys.seal('webhook secret', secret),
    });
    if (!made) throw new Refused(notPermitted(owner.id, site.id));
    out.result({ ...endpointDocument(made), secret }, secretText(made, secret));
  });
}

const notPermitted = (crd: string, web: string): string =>
  `Credential ${crd} may not be told of the changes of ${web}: it needs the website, website_read, event_read and no restrictions.`;

const secretText = (record: EndpointRecord, secret: string): string =>
  `${endpointText(record)}\n\n  secret  ${secret}\n\nThe secret is shown only now; the store keeps it sealed.`;

async function usable(db: Database, ref: string): Promise<CredentialRecord> {
  const record = await credential(db, ref);
  if (record.state !== 'active') throw new Refused(`Credential ${record.id} is ${record.state}.`);
  return record;
}

/** The address in its one spelling, after the rules for receivers; they are asked again before every attempt. */
async function receiver({ out, config }: CommandContext, text: string): Promise<string> {
  const checked = receiverOf(text, config.webhooks.allowed);
  if ('refused' in checked) throw new Refused(checked.refused);
  const { url, exempt } = checked;
  try {
    await checkedAddresses(url, exempt, resolveName);
  } catch (error) {
    if (error instanceof AddressRefused)
      throw new Refused('The receiver’s name leads to an address that is not public.');
    out.note('The receiver’s name has no address now; deliveries wait until it has one.');
  }
  return url.href;
}

function listCommand(group: Command, register: Run): void {
  const command = group
    .command('list')
    .description('endpoints, in order of creation')
    .option('--credential <CRD>', 'only this credential’s');
  register(command, async ({ out, store }) => {
    const given = command.opts<{ credential?: string }>();
    const { db } = await store();
    const owner = given.credential === undefined ? null : (await credential(db, given.credential)).id;
    const endpoints = await readEndpoints(db, { credential: owner });
    out.result(
      { endpoints: endpoints.map(endpointDocument) },
      endpoints.length === 0 ? 'There is no webhook.' : endpointTable(endpoints),
    );
  });
}

async function endpoint(db: Database, id: string): Promise<EndpointRecord> {
  const [record] = await readEndpoints(db, { id });
  if (!record) throw unknown(id);
  return record;
}

const unknown = (id: string): Refused => new Refused(`There is no webhook ${JSON.stringify(plain(id))}.`);

function updateCommand(group: Command, register: Run): void {
  const command = endpointOptions(
    group
      .command('update <WHK>')
      .description('change an endpoint; a list that is given replaces the whole list, for what is not queued yet')
      .option('--credential <CRD>', 'the credential under which it is told')
      .option('--website <WEB>', 'the website; what is queued of the one before is dropped')
      .option('--url <URL>', 'the receiver’s https address'),
  )
    .addOption(new Option('--enable', 'deliver what is recorded from now on').conflicts('disable'))
    .option('--disable', 'deliver nothing; what is queued is dropped');
  register(command, async (context) => {
    const given = command.opts<EndpointOptions & { enable?: true; disable?: true }>();
    if (Object.keys(given).every((name) => name === 'json')) command.error('error: there is nothing to change');
    const { db } = await context.store();
    const record = await endpoint(db, command.args[0] ?? '');
    const owner = given.credential === undefined ? undefined : await usable(db, given.credential);
    const site =
      given.website === undefined ? undefined : await website(db, given.website, owner?.tenant ?? record.tenant);
    const url = given.url === undefined ? undefined : await receiver(context, given.url);
    const updated = await updateEndpoint(db, record.id, {
      credential: owner?.id,
      site,
      url,
      eventTypes: given.eventType,
      description: given.description,
      enabled: given.enable ? true : given.disable ? false : undefined,
    });
    if (!updated) throw unknown(record.id);
    if (!updated.permitted) context.out.note(notPermitted(updated.credential_id, updated.website_id));
    context.out.result(endpointDocument(updated), endpointText(updated));
  });
}

function rotateCommand(group: Command, register: Run): void {
  const command = group
    .command('rotate <WHK>')
    .description('put another secret in place, shown this once; both sign for a while')
    .option('--overlap <TIME>', 'how long the old secret signs as well', duration, DAY);
  register(command, async ({ out, store, config }) => {
    const { overlap } = command.opts<{ overlap: number }>();
    const { db } = await store();
    const record = await endpoint(db, command.args[0] ?? '');
    const secret = newWebhookSecret();
    const keys = await openGivenKeys(config);
    const rotated = await rotateEndpoint(db, record.id, keys.seal('webhook secret', secret), overlap);
    if (!rotated) {
      const { old_secret_until: until } = await endpoint(db, record.id);
      throw new Refused(
        `The secret before the last one of ${record.id} signs until ${until?.toISOString() ?? 'now'}: rotate after that, or with --overlap 0s, which ends it and the last one at once.`,
      );
    }
    out.result({ ...endpointDocument(rotated), secret }, secretText(rotated, secret));
  });
}

function testCommand(group: Command, register: Run): void {
  const command = group
    .command('test <WHK>')
    .description('send a heartbeat marked as a test, now and once; exit code 1 where it is not accepted');
  register(command, async ({ out, store, config }) => {
    const { db } = await store();
    const record = await endpoint(db, command.args[0] ?? '');
    const { document, accepted } = await testEndpoint(db, config, record);
    out.result(document, accepted ? 'The receiver has accepted it.' : 'The receiver has not accepted it.');
    if (!accepted) process.exitCode = 1;
  });
}

function replayCommand(group: Command, register: Run): void {
  const command = group
    .command('replay <WHK>')
    .description('deliver receipts of the last seven days again, or for the first time')
    .addOption(new Option('--event <EVT>', 'the receipt of this id').conflicts(['since', 'until']))
    .option('--since <TIME>', 'receipts recorded from this time on', moment)
    .option('--until <TIME>', 'and before this one; now where absent', moment);
  register(command, async ({ out, store }) => {
    const { event, since, until } = command.opts<{ event?: string; since?: Date; until?: Date }>();
    if (event === undefined && since === undefined) {
      command.error("error: one of '--event <EVT>' and '--since <TIME>' is required");
    }
    const { db } = await store();
    const id = command.args[0] ?? '';
    const which = event === undefined ? { since: since ?? new Date(0), until: until ?? null } : { event };
    const { refused, found, queued } = await replayDeliveries(db, id, await openLedgerKey(db)(), which);
    if (refused === 'unknown') throw unknown(id);
    if (refused === 'disabled') throw new Refused(`Webhook ${id} is disabled.`);
    if (refused === 'not_permitted') throw new Refused(`The credential of webhook ${id} may not be told any more.`);
    if (found === 0 && event !== undefined) {
      throw new Refused(`There is no receipt ${JSON.stringify(plain(event))} of the last seven days on its website.`);
    }
    const cut = found === REPLAYED_MAX;
    out.result(
      { endpoint_id: id, found, queued, truncated: cut },
      `${queued} deliveries are queued${cut ? '; there may be more receipts, repeat it with a later --since' : ''}.`,
    );
  });
}

/** Lines of the log that are shown. */
const SHOWN = 1_000;

function deliveriesCommand(group: Command, register: Run): void {
  const command = group
    .command('deliveries <WHK>')
    .description(`the log of deliveries, kept for seven days: the latest ${SHOWN}, the last one first`)
    .addOption(new Option('--status <S>', 'only those').choices(DELIVERY_STATUSES));
  register(command, async ({ out, store }) => {
    const { status } = command.opts<{ status?: DeliveryStatus }>();
    const { db } = await store();
    const { id } = await endpoint(db, command.args[0] ?? '');
    const deliveries = await readDeliveries(db, id, status, SHOWN);
    out.result(
      { endpoint_id: id, deliveries: deliveries.map(deliveryDocument) },
      deliveries.length === 0 ? 'There is no delivery.' : deliveryTable(deliveries),
    );
  });
}

function deleteCommand(group: Command, register: Run): void {
  const command = group.command('delete <WHK>').description('remove an endpoint with its queue and its log');
  register(command, async ({ out, store }) => {
    const { db } = await store();
    const id = command.args[0] ?? '';
    if (!(await deleteEndpoint(db, id))) throw unknown(id);
    out.result({ endpoint_id: id, deleted: true }, `Webhook ${id} is deleted.`);
  });
}
