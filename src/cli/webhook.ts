import { type Command, InvalidArgumentError, Option } from 'commander';
import { newId } from '../auth/issue.ts';
import { openGivenKeys } from '../auth/key-file.ts';
import { EVENT_FAMILIES, EVENT_TYPE } from '../core/events.ts';
import { receiverOf } from '../outbound/receivers.ts';
import { AddressRefused, checkedAddresses, resolveName } from '../outbound/resolve.ts';
import { newWebhookSecret } from '../outbound/signature.ts';
import type { CredentialRecord } from '../store/administration/credentials.ts';
import {
  deleteEndpoint,
  type EndpointRecord,
  insertEndpoint,
  readEndpoints,
  rotateEndpoint,
  updateEndpoint,
} from '../store/administration/endpoints.ts';
import type { Database } from '../store/driver/postgres.ts';
import { confirm, irreversible } from './confirm.ts';
import type { CommandContext, RunAction } from './context.ts';
import { credential } from './credential.ts';
import { DAY, duration } from './options.ts';
import { plain, Refused } from './output.ts';
import { website } from './references.ts';
import { deliveryCommands } from './webhook-deliveries.ts';
import {
  endpoint,
  endpointDocument,
  endpointTable,
  endpointText,
  ownEndpoint,
  shown,
  unknown,
} from './webhook-view.ts';

export function webhookCommands(program: Command, register: RunAction): void {
  const group = program
    .command('webhook')
    .description('manage webhooks: endpoints to which receipts of changes on a website are pushed');
  createCommand(group, register);
  listCommand(group, register);
  updateCommand(group, register);
  rotateCommand(group, register);
  deliveryCommands(group, register);
  deleteCommand(group, register);
}

const EVENT_TYPES_MAX = 35;
const DESCRIPTION_MAX = 240;
const ALL_TYPES = EVENT_FAMILIES.map((family) => `${family}.*`);

function eventType(value: string, before: readonly string[] | undefined): string[] {
  if (!EVENT_TYPE.test(value)) {
    throw new InvalidArgumentError(
      'Expected an exact event type such as conversation.changed, or a family such as conversation.*.',
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
    .option('--event-type <T>', 'event type, or a family such as conversation.* (repeatable; default: all)', eventType)
    .option('--description <D>', 'description of the webhook, at most 240 characters', description);

function createCommand(group: Command, register: RunAction): void {
  const command = endpointOptions(
    group
      .command('create')
      .description('create a webhook for the changes of a website; its signing secret is shown only once')
      .requiredOption('--credential <CRD>', 'credential under whose grants receipts are delivered')
      .requiredOption('--website <WEB>', 'website, by id or external_id')
      .requiredOption('--url <URL>', 'https URL of the receiver, on port 443 or 8443'),
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
  `Credential ${crd} lacks a grant for the receipts of ${web}. The credential needs the website, website_read, event_read and no restrictions.`;

const secretText = (record: EndpointRecord, secret: string): string =>
  `${endpointText(record)}\n\n  secret  ${secret}\n\nThe secret is shown only now. The store keeps it encrypted.`;

async function usable(db: Database, ref: string): Promise<CredentialRecord> {
  const record = await credential(db, ref);
  if (record.state !== 'active') throw new Refused(`Credential ${record.id} is ${record.state}.`);
  return record;
}

async function receiver({ out, config }: CommandContext, text: string): Promise<string> {
  const checked = receiverOf(text, config.webhooks.allowed);
  if ('refused' in checked) throw new Refused(checked.refused + allowing(checked.origin));
  const { url, exempt } = checked;
  try {
    await checkedAddresses(url, exempt, resolveName);
  } catch (error) {
    if (error instanceof AddressRefused)
      throw new Refused(
        `The host name of the receiver resolves to an address that is not public.${allowing(url.origin)}`,
      );
    out.note('The host name of the receiver does not resolve now. Deliveries wait until the name resolves.');
  }
  return url.href;
}

/** Names the setting with which an operator can allow a receiver that is not https and public. */
const allowing = (origin: string | undefined): string =>
  origin === undefined
    ? ''
    : ` To allow this receiver, set GATEWAY_WEBHOOK_ALLOW=${origin} for the running gateway and for this command.`;

function listCommand(group: Command, register: RunAction): void {
  const command = group
    .command('list')
    .description('list webhooks in order of creation')
    .option('--credential <CRD>', 'list only webhooks of this credential');
  register(command, async ({ out, store }) => {
    const given = command.opts<{ credential?: string }>();
    const { db } = await store();
    const owner = given.credential === undefined ? null : (await credential(db, given.credential)).id;
    const endpoints = await readEndpoints(db, { credential: owner });
    out.result({ endpoints: endpoints.map(endpointDocument) }, endpointTable(endpoints));
  });
}

function updateCommand(group: Command, register: RunAction): void {
  const command = endpointOptions(
    group
      .command('update <WHK>')
      .description(
        'change a webhook; a given list of event types replaces the stored list for deliveries not yet queued',
      )
      .option('--credential <CRD>', 'credential under whose grants receipts are delivered')
      .option('--website <WEB>', 'website; queued deliveries of the previous website are dropped')
      .option('--url <URL>', 'https URL of the receiver'),
  )
    .addOption(new Option('--enable', 'enable the webhook: deliver receipts recorded from now on').conflicts('disable'))
    .option('--disable', 'disable the webhook: deliver nothing and drop queued deliveries');
  register(command, async (context) => {
    const given = command.opts<EndpointOptions & { enable?: true; disable?: true }>();
    if (Object.keys(given).every((name) => name === 'json'))
      command.error('error: nothing to change: give at least one option');
    const { db } = await context.store();
    const record = await ownEndpoint(db, command.args[0] ?? '');
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

function rotateCommand(group: Command, register: RunAction): void {
  const command = group
    .command('rotate <WHK>')
    .description(
      'replace the signing secret; the new secret is shown only once, and both secrets sign during the overlap',
    )
    .addOption(
      new Option('--overlap <DURATION>', 'time for which the old secret also signs; 0s ends the old secret at once')
        .argParser(duration)
        .default(DAY, '24h'),
    );
  register(command, async ({ out, store, config }) => {
    const { overlap } = command.opts<{ overlap: number }>();
    const { db } = await store();
    const record = await ownEndpoint(db, command.args[0] ?? '');
    const secret = newWebhookSecret();
    const keys = await openGivenKeys(config);
    const rotated = await rotateEndpoint(db, record.id, keys.seal('webhook secret', secret), overlap);
    if (!rotated) {
      const { old_secret_until: until } = await endpoint(db, record.id);
      throw new Refused(
        `The previous secret of ${record.id} still signs until ${until?.toISOString() ?? 'now'}. Rotate after that time, or end both older secrets at once with --overlap 0s.`,
      );
    }
    out.result({ ...endpointDocument(rotated), secret }, secretText(rotated, secret));
  });
}

function deleteCommand(group: Command, register: RunAction): void {
  const command = irreversible(
    group.command('delete <WHK>').description('delete a webhook with its queue and its log'),
  );
  register(command, async ({ out, store }) => {
    const { db } = await store();
    const { id, url, subscription_id: subscription } = await endpoint(db, command.args[0] ?? '');
    const whole = subscription === null ? '' : ` Subscription ${subscription} of an MCP client ends.`;
    await confirm(command, `Delete ${id} for ${plain(shown(url))}? Its queue and its log are lost.${whole}`);
    if (!(await deleteEndpoint(db, id))) throw unknown(id);
    out.result({ endpoint_id: id, deleted: true }, `Webhook ${id} is deleted.`);
  });
}
