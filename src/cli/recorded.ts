import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { draftOfCommand } from '../audit/mark.ts';
import { openGivenKeys } from '../auth/key-file.ts';
import type { AuditDraft } from '../core/audit.ts';
import { requireHere } from '../store/administration/references.ts';
import { insertRecord, organizationOf, recording } from '../store/audit/commands.ts';
import type { Database } from '../store/driver/postgres.ts';
import type { Store } from '../store/open/open.ts';
import type { CommandContext } from './context.ts';

const ID = /^(app|ins|crd|prs|cns|whk|src|web|ctc|vis|era)_[a-z0-9_]{1,80}$/;
const isId = (one: unknown): one is string => typeof one === 'string' && ID.test(one);
const TARGETS = 3;

/**
 * Runs a command. If it changes something, its audit record names what the command has told: the ids of its statement,
 * its result and its arguments. A dry run changes nothing. The statement of the change inserts the record, if the store
 * watches what it changes (27_console.sql). For other commands, the record follows the change.
 */
export async function recorded(
  operation: string,
  command: Command,
  context: CommandContext,
  run: (context: CommandContext) => Promise<void>,
): Promise<void> {
  const began = performance.now();
  const { out } = context;
  const given: readonly unknown[] = [...command.args, ...Object.values(command.opts()).flat()];
  const { organization: named }: { organization?: unknown } = command.opts();
  const ref = operation.startsWith('organization ') ? command.args[0] : named;
  const requestId = randomUUID();
  let draft: AuditDraft | undefined;
  /** Of what a command deletes, the organization is known only before. */
  let before: string | undefined;
  /** `own`: the organization, if the command has told it. */
  const draftOf = async (db: Database, ids: readonly unknown[], own?: unknown): Promise<AuditDraft | undefined> => {
    const all = [...new Set([...ids, ...given].filter(isId))];
    const found = async () => organizationOf(db, all, typeof ref === 'string' ? ref : undefined);
    const organization = typeof own === 'string' ? own : (before ?? (await found()));
    if (organization === undefined) return undefined;
    const keys = await openGivenKeys(context.config).catch(() => undefined);
    const ms = Math.round(performance.now() - began);
    draft = draftOfCommand(keys, { organization, operation, targets: all.slice(0, TARGETS), requestId, ms });
    return draft;
  };
  let opened: Promise<Store> | undefined;
  const open = async (options?: Parameters<CommandContext['store']>[0]): Promise<Store> => {
    const store = await context.store(options);
    before = await organizationOf(store.db, command.args.filter(isId), undefined);
    const owner =
      before ?? (await organizationOf(store.db, given.filter(isId), typeof ref === 'string' ? ref : undefined));
    // A move ends where the organization has gone already.
    if (owner !== undefined && operation !== 'organization move') await requireHere(store.db, { id: owner });
    return { ...store, db: recording(store.db, (ids) => draftOf(store.db, ids)) };
  };
  let told: object | undefined;
  const result: typeof out.result = (document, text) => {
    told = document;
    out.result(document, text);
  };
  const store: CommandContext['store'] = (options) => {
    opened ??= open(options);
    return opened;
  };
  await run({ ...context, store, out: { ...out, result } });
  if (!told || draft?.inserted) return;
  const members: { readonly dry_run?: unknown; readonly organization_id?: unknown } = told;
  if (members.dry_run === true) return;
  const { db } = await context.store();
  // The certificate of an erasure does not name the person. The command does.
  const made = await draftOf(db, Object.values(told), members.organization_id);
  if (!made) return;
  await insertRecord(db, made).catch(() => {
    out.note('The change is done, but its audit record could not be written.');
    process.exitCode = 1;
  });
}
