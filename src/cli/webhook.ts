import { type Command, Option } from 'commander';
import { newId } from '../auth/issue.ts';
import {
  createWebhook,
  descriptionProblem,
  rotateWebhook,
  shownReceiver,
  typesProblem,
  updateWebhook,
  type WithSecret,
} from '../events/webhooks/administration.ts';
import type { CredentialRecord } from '../store/administration/credentials.ts';
import { deleteEndpoint, type EndpointRecord, readEndpoints } from '../store/administration/endpoints.ts';
import type { Database } from '../store/driver/postgres.ts';
import { confirm, irreversible } from './confirm.ts';
import type { RunAction } from './context.ts';
import { credential } from './credential.ts';
import { checked, DAY, duration } from './options.ts';
import { plain, Refused } from './output.ts';
import { website } from './references.ts';
import { deliveryCommands } from './webhook-deliveries.ts';
import { webhookDoor } from './webhook-door.ts';
import { endpoint, endpointDocument, endpointTable, endpointText, ownEndpoint, unknown } from './webhook-view.ts';

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

function eventType(value: string, before: readonly string[] | undefined): string[] {
  const all = [...new Set([...(before ?? []), value])];
  return checked(all, typesProblem(all));
}

const description = (value: string): string => checked(value, descriptionProblem(value));

interface EndpointOptions {
  readonly credential?: string;
  readonly website?: string;
  readonly url?: string;
  readonly eventType?: string[];
  readonly description?: string;
}

const endpointOptions = (command: Command): Command =>
  command
    .option(
      '--event-type <T>',
      'event type, a family such as conversation.*, or approval.requested (repeatable; default: all families)',
      eventType,
    )
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
  register(command, async ({ out, store, config }) => {
    const given = command.opts<EndpointOptions & { credential: string; website: string; url: string }>();
    const { db } = await store();
    const owner = await usable(db, given.credential);
    const site = await website(db, given.website, owner.tenant);
    const made = await createWebhook(webhookDoor(db, config), {
      id: newId('whk'),
      credential: owner,
      site,
      url: given.url,
      eventTypes: given.eventType,
      description: given.description,
    });
    for (const note of made.notes) out.note(note);
    out.result({ ...endpointDocument(made.record), secret: made.secret }, secretText(made));
  });
}

const secretText = ({ record, secret }: WithSecret): string =>
  `${endpointText(record)}\n\n  secret  ${secret}\n\nThe secret is shown only now. The store keeps it encrypted.`;

async function usable(db: Database, ref: string): Promise<CredentialRecord> {
  const record = await credential(db, ref);
  if (record.state !== 'active') throw new Refused(`Credential ${record.id} is ${record.state}.`);
  return record;
}

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
  irreversible(command);
  register(command, async (context) => {
    const given = command.opts<EndpointOptions & { enable?: true; disable?: true }>();
    if (Object.keys(given).every((name) => ['json', 'yes'].includes(name)))
      command.error('error: nothing to change: give at least one option');
    const { db } = await context.store();
    const record = await ownEndpoint(db, command.args[0] ?? '');
    const owner = given.credential === undefined ? undefined : await usable(db, given.credential);
    const site =
      given.website === undefined ? undefined : await website(db, given.website, owner?.tenant ?? record.tenant);
    const drops = [
      ...(given.disable && record.enabled ? [`Disable ${receiverOf(record)}?`] : []),
      ...(site && site.id !== record.website_id ? [`Move ${receiverOf(record)} to ${site.id}?`] : []),
    ];
    if (drops.length > 0) await confirm(command, `${drops.join(' ')} Its queued deliveries are lost.`);
    const { record: updated, notes } = await updateWebhook(webhookDoor(db, context.config), record, {
      credential: owner,
      site,
      url: given.url,
      eventTypes: given.eventType,
      description: given.description,
      enabled: given.enable ? true : given.disable ? false : undefined,
    });
    for (const note of notes) context.out.note(note);
    context.out.result(endpointDocument(updated), endpointText(updated));
  });
}

function rotateCommand(group: Command, register: RunAction): void {
  const command = irreversible(group.command('rotate <WHK>'))
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
    if (overlap === 0)
      await confirm(command, `Rotate the secret of ${receiverOf(record)}? The old one ends at once and for ever.`);
    const rotated = await rotateWebhook(webhookDoor(db, config), record, overlap);
    out.result({ ...endpointDocument(rotated.record), secret: rotated.secret }, secretText(rotated));
  });
}

/** As a question names a webhook. */
const receiverOf = ({ id, url }: EndpointRecord): string => `${id} for ${plain(shownReceiver(url))}`;

function deleteCommand(group: Command, register: RunAction): void {
  const command = irreversible(
    group.command('delete <WHK>').description('delete a webhook with its queue and its log'),
  );
  register(command, async ({ out, store }) => {
    const { db } = await store();
    const record = await endpoint(db, command.args[0] ?? '');
    const { id, subscription_id: subscription } = record;
    const whole = subscription === null ? '' : ` Subscription ${subscription} of an MCP client ends.`;
    await confirm(command, `Delete ${receiverOf(record)}? Its queue and its log are lost.${whole}`);
    if (!(await deleteEndpoint(db, id))) throw unknown(id);
    out.result({ endpoint_id: id, deleted: true }, `Webhook ${id} is deleted.`);
  });
}
