import type { Command } from 'commander';
import { openGivenKeys } from '../auth/key-file.ts';
import { countSharers, SHARERS_MAX } from '../privacy/addresses.ts';
import type { Certificate, Kind } from '../privacy/certificate.ts';
import { erase } from '../privacy/erase.ts';
import { listErasures } from '../privacy/erasures.ts';
import { whenBuilt } from './building.ts';
import { confirm, irreversible } from './confirm.ts';
import type { RunAction } from './context.ts';
import { existingStore } from './existing-store.ts';
import { facts, plain, Refused, table } from './output.ts';

const KINDS: Readonly<Record<Kind, { readonly example: string; readonly description: string }>> = {
  contact: { example: 'ctc_1_1_42', description: 'erase a contact with all its visitors, for ever; safe to repeat' },
  visitor: { example: 'vis_1_1_42', description: 'erase one visitor, for ever; its contact stays; safe to repeat' },
};

export function eraseCommands(program: Command, register: RunAction): void {
  const group = program
    .command('erase')
    .description('erase a person: the record, texts, files and notes go, and no import or source brings them back');
  personCommand(group, register, 'contact');
  personCommand(group, register, 'visitor');
  const list = group
    .command('list')
    .description(
      'list erasures; with --json, the list that `restored --erasures` reads: keep it outside of the backups',
    );
  register(list, async ({ out, store }) => {
    const { db } = await store();
    const found = await listErasures(db);
    out.result(
      found,
      table(
        ['ERASURE', 'TIME', 'SUBJECT', 'ORGANIZATION', 'REASON'],
        found.erasures.map((one) => [one.erasure_id, one.time, one.subject, one.organization_id, plain(one.reason)]),
        'Nobody was erased.',
      ),
    );
  });
}

function personCommand(group: Command, register: RunAction, kind: Kind): void {
  const { example, description } = KINDS[kind];
  const command = irreversible(
    group
      .command(`${kind} <ID>`)
      .description(description)
      .requiredOption('--reason <TEXT>', 'why, 1 to 240 characters; it is kept, so it must name nobody')
      .option('--dry-run', 'count what would go, and change nothing'),
  );
  register(command, async ({ out, store, config }) => {
    const id = command.args[0] ?? '';
    const { reason, dryRun = false } = command.opts<{ reason: string; dryRun?: boolean }>();
    if (reason.trim() === '' || reason.length > 240) throw new Refused('--reason must have 1 to 240 characters.');
    existingStore(config);
    const keys = await openGivenKeys(config);
    const { slow } = await store();
    const sharers = await countSharers(slow, { kind, id });
    if (sharers > 0) out.note(shared(sharers));
    if (!dryRun) {
      const what = kind === 'contact' ? ', with all its visitors and all that was written with them' : '';
      await confirm(command, `Erase ${plain(id)}${what}? Nobody can undo it.`);
    }
    const certificate = await whenBuilt(erase(slow, keys, { kind, id, reason: reason.trim(), dryRun }));
    if (certificate === undefined)
      throw new Refused(`There is no ${kind} ${JSON.stringify(plain(id))}. The id looks like ${example}.`);
    out.result(certificate, summary(certificate));
  });
}

/** An erasure suppresses addresses, and cannot tell whose they are. */
const shared = (n: number): string =>
  `Warning: ${n < SHARERS_MAX ? n : `${SHARERS_MAX} or more`} other ${n === 1 ? 'contact has' : 'contacts have'} the same e-mail address or telephone number. If they are the same person, erase them, too. If not, take the address off this contact first: no import or source brings back anybody with an address that is suppressed.`;

function summary({ erasure_id, time, kind, subject_digest, counts, backups, dry_run }: Certificate): string {
  const rows: [string, string][] = [
    ...(erasure_id === null ? [] : [['erasure', erasure_id] as [string, string]]), // the compiler takes the pair for a list
    ['time', time],
    ['digest', subject_digest ?? 'none yet'],
    ...Object.entries(counts).map(([name, n]): [string, string] => [name.replaceAll('_', ' '), String(n)]),
  ];
  const end = dry_run ? 'Nothing was changed: this was a dry run.' : backups;
  return `The ${kind} ${dry_run ? 'would be' : 'is'} erased.\n${facts(rows)}\n${end}`;
}
