import { type Command, InvalidArgumentError, Option } from 'commander';
import { addPerson } from '../auth/people.ts';
import { emailOf, unlock } from '../auth/sign-in.ts';
import { makeSignInLink } from '../auth/sign-in-links.ts';
import { pick } from '../core/json.ts';
import { listConsents } from '../store/administration/consents.ts';
import {
  disablePerson,
  enablePerson,
  type PersonRecord,
  ROLES,
  type Role,
  readPeople,
  setPassword,
  setRole,
} from '../store/administration/people.ts';
import type { Database } from '../store/driver/postgres.ts';
import { confirm, irreversible } from './confirm.ts';
import type { CommandContext, RunAction } from './context.ts';
import { facts, plain, Refused, table, time } from './output.ts';
import { type PasswordSource, pipedPassword, typedPassword } from './password.ts';
import { organization, person, tenantOf } from './references.ts';

export function personCommands(program: Command, register: RunAction): void {
  const group = program
    .command('person')
    .description('manage people who may sign in; owners and admins may consent and see records');
  addCommand(group, register);
  listCommand(group, register);
  changeCommand(
    group,
    register,
    'disable',
    'disable a person: sessions and consents end, and the person can no longer sign in',
    disablePerson,
    (name) => `Disable ${name}? The consents of the person end for ever.`,
  );
  changeCommand(group, register, 'enable', 'let a disabled person sign in again', enablePerson);
  unlockCommand(group, register);
  roleCommand(group, register);
  passwordCommand(group, register);
  signInLinkCommand(group, register);
}

const terminal = (): PasswordSource => ({ input: process.stdin, questions: process.stderr });

const roleOption = (): Option =>
  new Option('--role <ROLE>', 'role in the organization').choices(ROLES).makeOptionMandatory();

function addCommand(group: Command, register: RunAction): void {
  const command = group
    .command('add')
    .description('add a person and prompt for the password')
    .requiredOption('--organization <ORG>', 'organization, by id or external_id')
    .requiredOption('--email <EMAIL>', 'e-mail address for signing in', email)
    .addOption(roleOption())
    .option('--password-stdin', 'read the password, 12 to 256 characters, from standard input')
    .option(
      '--no-password',
      'set no password: the person signs in at the identity provider, or by person sign-in-link',
    );
  register(command, async ({ out, store, config }) => {
    const given = command.opts<{ organization: string; email: string; role: Role } & PasswordOptions>();
    refuseTwoPasswords(command, given);
    const { db } = await store();
    const { tenant } = await organization(db, given.organization);
    // This check comes before the prompt, so that nobody chooses a password for a person who already exists.
    const [existing] = (await readPeople(db, { tenant })).filter((one) => one.email === given.email);
    if (existing) throw new Refused(`The organization already has a person ${plain(given.email)}: ${existing.id}.`);
    const password = (await passwordOf(given)) ?? null;
    const made = await addPerson(db, { tenant, email: given.email, role: given.role, password });
    if (!made) throw new Refused(`The organization already has a person ${plain(given.email)}.`);
    if (password === null)
      out.note(
        provided(config)
          ? 'No password was set: the person signs in at the identity provider.'
          : `No password was set: the person signs in by a one-time link. Make one: gateway person sign-in-link ${made.id}`,
      );
    out.result(document(made), personText(made, provided(config)));
  });
}

interface PasswordOptions {
  readonly passwordStdin?: boolean;
  readonly password: boolean;
}

function refuseTwoPasswords(command: Command, { passwordStdin, password }: PasswordOptions): void {
  if (passwordStdin === true && !password)
    command.error("error: option '--no-password' contradicts '--password-stdin'");
}

async function passwordOf({ passwordStdin, password }: PasswordOptions): Promise<string | undefined> {
  if (passwordStdin === true) return pipedPassword(terminal());
  return password ? typedPassword(terminal()) : undefined;
}

function listCommand(group: Command, register: RunAction): void {
  const command = group
    .command('list')
    .description('list people in order of creation')
    .option('--organization <ORG>', 'list only people of this organization');
  register(command, async ({ out, store, config }) => {
    const given = command.opts<{ organization?: string }>();
    const { db } = await store();
    const people = await readPeople(db, await tenantOf(db, given.organization));
    out.result({ people: people.map(document) }, personTable(people, provided(config)));
  });
}

/** As a question names a person. */
const named = ({ email: address, organization_id: id }: PersonRecord): string => `${plain(address)} of ${id}`;

const about = (group: Command, name: string, description: string): Command =>
  group
    .command(`${name} [PERSON]`)
    .description(`${description}; PERSON is an id or an e-mail address`)
    .option('--organization <ORG>', 'organization of the person, by id or external_id')
    .option('--email <EMAIL>', 'e-mail address of the person, instead of PERSON', email);

/** The store, and the id of the person whom the command names. Wrong arguments end the command before the store opens. */
async function target(command: Command, store: CommandContext['store']): Promise<{ db: Database; id: string }> {
  const given = command.opts<{ organization?: string; email?: string }>();
  const name = command.args[0] ?? given.email ?? command.error("error: missing argument 'PERSON'");
  if (command.args[0] !== undefined && given.email !== undefined)
    command.error("error: option '--email' cannot be used with PERSON");
  const { db } = await store();
  const { tenant } = await tenantOf(db, given.organization);
  return { db, id: (await person(db, name, tenant)).id };
}

function changeCommand(
  group: Command,
  register: RunAction,
  name: string,
  description: string,
  change: (db: Database, id: string) => Promise<PersonRecord | undefined>,
  question?: (name: string) => string,
): void {
  const command = about(group, name, description);
  if (question !== undefined) irreversible(command);
  register(command, async ({ out, store, config }) => {
    const { db, id } = await target(command, store);
    if (question !== undefined) await confirm(command, question(named(await stored(db, id))));
    const changed = present(await change(db, id));
    out.result(document(changed), personText(changed, provided(config)));
  });
}

function unlockCommand(group: Command, register: RunAction): void {
  const command = about(
    group,
    'unlock',
    'forget failed sign-ins of a person, so that the person can try again at once',
  );
  register(command, async ({ out, store }) => {
    const { db, id } = await target(command, store);
    const record = await stored(db, id);
    const forgotten = await unlock(db, record);
    out.result(
      { ...document(record), failures_forgotten: forgotten },
      `${forgotten === 0 ? 'No failed sign-in was recorded' : `${forgotten} failed sign-ins are forgotten`}. ${plain(record.email)} can sign in${record.state === 'disabled' ? ' only after person enable' : ''}.`,
    );
  });
}

function roleCommand(group: Command, register: RunAction): void {
  const command = irreversible(
    about(
      group,
      'role',
      'change the role of a person; sessions and consents end if the new role is operator',
    ).addOption(roleOption()),
  );
  register(command, async ({ out, store, config }) => {
    const { role } = command.opts<{ role: Role }>();
    const { db, id } = await target(command, store);
    const before = await stored(db, id);
    if (role === 'operator' && before.role !== role)
      await confirm(command, `Make ${named(before)} an operator? Sessions and consents of the person end for ever.`);
    const changed = present(await setRole(db, id, role));
    out.result(document(changed), personText(changed, provided(config)));
  });
}

function passwordCommand(group: Command, register: RunAction): void {
  const command = about(group, 'password', 'prompt for a new password of a person and end the person’s sessions')
    .option('--password-stdin', 'read the password, 12 to 256 characters, from standard input')
    .option(
      '--no-password',
      'remove the password: the person signs in at the identity provider, or by person sign-in-link',
    )
    .option('--end-consents', 'also end all consents of the person');
  irreversible(command);
  register(command, async ({ out, store, config }) => {
    const given = command.opts<PasswordOptions & { endConsents?: boolean }>();
    refuseTwoPasswords(command, given);
    const { db, id } = await target(command, store);
    const { endConsents = false } = given;
    if (endConsents) await confirm(command, `End all consents of ${named(await stored(db, id))}? They end for ever.`);
    const password = await passwordOf(given);
    if (password === undefined && given.password) {
      throw new Refused('There is no terminal to ask for a password. Use --password-stdin or --no-password.');
    }
    const { person: changed, ended } = present(await setPassword(db, id, password ?? null, { endConsents }));
    const active = (await listConsents(db, { person: id })).filter(({ state }) => state === 'active').length;
    out.result(
      { ...document(changed), consents_active: active, consents_ended: ended },
      personText(changed, provided(config), [['consents', consentsText(id, active, endConsents ? ended : undefined)]]),
    );
  });
}

/**
 * Tells how many consents a password change leaves active. An app never had the password, so they do not end by
 * themselves.
 */
function consentsText(id: string, active: number, ended: number | undefined): string {
  if (ended !== undefined) return `${ended} ended, ${active} active`;
  if (active === 0) return 'none is active';
  return `${active} active. List them: \`gateway consent list --person ${id}\`. Revoke one: \`gateway consent revoke CNS\`. End all: repeat this command with --end-consents`;
}

function signInLinkCommand(group: Command, register: RunAction): void {
  const command = about(
    group,
    'sign-in-link',
    'make a link that signs a person in to the console, once, within 15 minutes',
  );
  register(command, async ({ out, config, store }) => {
    const { db, id } = await target(command, store);
    const link = await makeSignInLink(db, { person: id, baseUrl: config.baseUrl });
    if (!link)
      throw new Refused(
        'Only an owner or admin, or an approver of a credential, can sign in, and nobody who is disabled.',
      );
    out.result(
      { person_id: id, url: link.url, expires_at: link.until },
      `${link.url}\n\nThe link works once, until ${time(link.until)}.`,
    );
  });
}

async function stored(db: Database, id: string): Promise<PersonRecord> {
  const [found] = await readPeople(db, { id });
  return present(found);
}

function present<T>(record: T | undefined): T {
  if (!record) throw new Refused('The person has just been removed.');
  return record;
}

function email(value: string): string {
  const address = emailOf(value);
  if (address === '') throw new InvalidArgumentError('Expected an e-mail address such as name@domain.example.');
  return address;
}

const document = (record: PersonRecord): object => ({
  person_id: record.id,
  ...pick(record, 'organization_id', 'email', 'role', 'state', 'password', 'identity', 'disabled_at', 'created_at'),
});

/** True if an identity provider is configured. */
const provided = ({ identity }: CommandContext['config']): boolean => identity !== undefined;

function signsIn({ password, identity }: PersonRecord, provider: boolean): string {
  if (password) return ['password', ...(identity ? ['identity provider'] : [])].join(', ');
  return identity || provider ? 'identity provider' : 'one-time link';
}

const personText = (
  record: PersonRecord,
  provider: boolean,
  more: readonly (readonly [string, string])[] = [],
): string =>
  facts([
    ['person', `${record.id}, ${record.state}`],
    ['e-mail', plain(record.email)],
    ['organization', record.organization_id],
    ['role', record.role === 'operator' ? 'operator (may not consent)' : record.role],
    ['signs in by', signsIn(record, provider)],
    ...(record.disabled_at ? [['disabled', time(record.disabled_at)] as const] : []),
    ...more,
  ]);

const personTable = (records: readonly PersonRecord[], provider: boolean): string =>
  table(
    ['PERSON', 'E-MAIL', 'ORGANIZATION', 'ROLE', 'STATE', 'SIGNS IN BY'],
    records.map((record) => [
      record.id,
      plain(record.email),
      record.organization_id,
      record.role,
      record.state,
      signsIn(record, provider),
    ]),
    'There is no person.',
  );
