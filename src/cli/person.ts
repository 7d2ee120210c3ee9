import { type Command, InvalidArgumentError, Option } from 'commander';
import { newId } from '../auth/issue.ts';
import { emailOf } from '../auth/sign-in.ts';
import { listConsents } from '../store/administration/consents.ts';
import {
  disablePerson,
  enablePerson,
  insertPerson,
  type PersonRecord,
  ROLES,
  type Role,
  readPeople,
  setPassword,
  setRole,
} from '../store/administration/people.ts';
import type { Database } from '../store/driver/postgres.ts';
import type { Run } from './context.ts';
import { Refused, table } from './output.ts';
import { type PasswordSource, pipedPassword, typedPassword } from './password.ts';
import { organization, person } from './references.ts';
import { facts, plain, time } from './text.ts';

/** `gateway person …`: who may sign in to the consent page (decisions, section 23). */
export function personCommands(program: Command, register: Run): void {
  const group = program
    .command('person')
    .description('people who may sign in to the consent page; owners and admins may consent');
  addCommand(group, register);
  listCommand(group, register);
  changeCommand(
    group,
    register,
    'disable',
    'end a person’s sessions and consents; nobody signs in any more',
    disablePerson,
  );
  changeCommand(group, register, 'enable', 'let a disabled person sign in again', enablePerson);
  roleCommand(group, register);
  passwordCommand(group, register);
}

const terminal = (): PasswordSource => ({ input: process.stdin, questions: process.stderr });

const roleOption = (): Option =>
  new Option('--role <ROLE>', 'role in the organization').choices(ROLES).makeOptionMandatory();

function addCommand(group: Command, register: Run): void {
  const command = group
    .command('add')
    .description('add a person; asks for a password on a terminal')
    .requiredOption('--organization <ORG>', 'the organization, by id or external_id')
    .requiredOption('--email <EMAIL>', 'e-mail address to sign in with', email)
    .addOption(roleOption())
    .option('--password-stdin', 'take the password, 12 to 256 characters, from standard input')
    .option('--no-password', 'give none: the person signs in at the identity provider');
  register(command, async ({ out, store }) => {
    const given = command.opts<{ organization: string; email: string; role: Role } & PasswordOptions>();
    refuseBoth(command, given);
    const { db } = await store();
    const { tenant } = await organization(db, given.organization);
    // Before somebody thinks up a password for nothing.
    const [there] = (await readPeople(db, { tenant })).filter((one) => one.email === given.email);
    if (there) throw new Refused(`The organization has a person ${plain(given.email)} already: ${there.id}.`);
    const password = (await passwordOf(given)) ?? null;
    const made = await insertPerson(db, { id: newId('prs'), tenant, email: given.email, role: given.role, password });
    if (!made) throw new Refused(`The organization has a person ${plain(given.email)} already.`);
    if (password === null) out.note('No password was set: the person signs in at the identity provider.');
    out.result(document(made), personText(made));
  });
}

interface PasswordOptions {
  readonly passwordStdin?: boolean;
  /** False with --no-password. */
  readonly password: boolean;
}

function refuseBoth(command: Command, { passwordStdin, password }: PasswordOptions): void {
  if (passwordStdin === true && !password)
    command.error("error: option '--no-password' contradicts '--password-stdin'");
}

async function passwordOf({ passwordStdin, password }: PasswordOptions): Promise<string | undefined> {
  if (passwordStdin === true) return pipedPassword(terminal());
  return password ? typedPassword(terminal()) : undefined;
}

function listCommand(group: Command, register: Run): void {
  const command = group
    .command('list')
    .description('people, in order of creation')
    .option('--organization <ORG>', 'only this organization’s');
  register(command, async ({ out, store }) => {
    const given = command.opts<{ organization?: string }>();
    const { db } = await store();
    const people = await readPeople(
      db,
      given.organization === undefined ? {} : { tenant: (await organization(db, given.organization)).tenant },
    );
    out.result({ people: people.map(document) }, people.length === 0 ? 'There is no person.' : personTable(people));
  });
}

/** One person: by id or e-mail address, or by organization and e-mail address. */
const named = (group: Command, name: string, description: string): Command =>
  group
    .command(`${name} [PERSON]`)
    .description(`${description}; PERSON is an id or an e-mail address`)
    .option('--organization <ORG>', 'the person’s organization, by id or external_id')
    .option('--email <EMAIL>', 'the person’s e-mail address, in place of PERSON', email);

async function target(db: Database, command: Command): Promise<string> {
  const given = command.opts<{ organization?: string; email?: string }>();
  const tenant = given.organization === undefined ? undefined : (await organization(db, given.organization)).tenant;
  return (await person(db, command.args[0] ?? given.email ?? '', tenant)).id;
}

function refuseNobody(command: Command): void {
  const given = command.opts<{ email?: string }>();
  if (command.args[0] === undefined && given.email === undefined) command.error("error: missing argument 'PERSON'");
  if (command.args[0] !== undefined && given.email !== undefined)
    command.error("error: option '--email' cannot be used with PERSON");
}

function changeCommand(
  group: Command,
  register: Run,
  name: string,
  description: string,
  change: (db: Database, id: string) => Promise<PersonRecord | undefined>,
): void {
  const command = named(group, name, description);
  register(command, async ({ out, store }) => {
    refuseNobody(command);
    const { db } = await store();
    const changed = present(await change(db, await target(db, command)));
    out.result(document(changed), personText(changed));
  });
}

function roleCommand(group: Command, register: Run): void {
  const command = named(group, 'role', 'give a person another role; an operator’s sessions and consents end').addOption(
    roleOption(),
  );
  register(command, async ({ out, store }) => {
    refuseNobody(command);
    const { role } = command.opts<{ role: Role }>();
    const { db } = await store();
    const changed = present(await setRole(db, await target(db, command), role));
    out.result(document(changed), personText(changed));
  });
}

function passwordCommand(group: Command, register: Run): void {
  const command = named(group, 'password', 'set a person’s password, asked for on a terminal; it ends their sessions')
    .option('--password-stdin', 'take the password, 12 to 256 characters, from standard input')
    .option('--no-password', 'take it away: the person signs in at the identity provider')
    .option('--end-consents', 'end what the person has permitted apps to do, too');
  register(command, async ({ out, store }) => {
    const given = command.opts<PasswordOptions & { endConsents?: boolean }>();
    refuseNobody(command);
    refuseBoth(command, given);
    const { db } = await store();
    const id = await target(db, command);
    const password = await passwordOf(given);
    if (password === undefined && given.password) {
      throw new Refused('Nobody is there to be asked: give --password-stdin, or --no-password.');
    }
    const { endConsents = false } = given;
    const { person: changed, ended } = present(await setPassword(db, id, password ?? null, { endConsents }));
    const active = (await listConsents(db, { person: id })).filter(({ state }) => state === 'active').length;
    out.result(
      { ...document(changed), consents_active: active, consents_ended: ended },
      personText(changed, [['consents', consentsText(id, active, endConsents ? ended : undefined)]]),
    );
  });
}

/** What the person has permitted goes on unless it is ended: an app does not know the password. */
function consentsText(id: string, active: number, ended: number | undefined): string {
  if (ended !== undefined) return `${ended} ended, ${active} active`;
  if (active === 0) return 'none is active';
  return `${active} active: \`gateway consent list --person ${id}\` shows them, \`gateway consent revoke CNS\` ends one, and this command with --end-consents all`;
}

function present<T>(record: T | undefined): T {
  if (!record) throw new Refused('The person has just been removed.');
  return record;
}

function email(value: string): string {
  const address = emailOf(value);
  if (address === '') throw new InvalidArgumentError('An e-mail address is written as name@domain.example.');
  return address;
}

const document = (record: PersonRecord): object => ({
  person_id: record.id,
  organization_id: record.organization_id,
  email: record.email,
  role: record.role,
  state: record.state,
  password: record.password,
  identity: record.identity,
  disabled_at: record.disabled_at,
  created_at: record.created_at,
});

const signsIn = ({ password, identity }: PersonRecord): string =>
  [...(password ? ['password'] : []), ...(identity || !password ? ['identity provider'] : [])].join(', ');

const personText = (record: PersonRecord, more: readonly (readonly [string, string])[] = []): string =>
  facts([
    ['person', `${record.id}, ${record.state}`],
    ['e-mail', plain(record.email)],
    ['organization', record.organization_id],
    ['role', record.role === 'operator' ? 'operator (may not consent)' : record.role],
    ['signs in by', signsIn(record)],
    ...(record.disabled_at ? [['disabled', time(record.disabled_at)] as const] : []),
    ...more,
  ]);

const personTable = (records: readonly PersonRecord[]): string =>
  table(
    ['PERSON', 'E-MAIL', 'ORGANIZATION', 'ROLE', 'STATE', 'SIGNS IN BY'],
    records.map((record) => [
      record.id,
      plain(record.email),
      record.organization_id,
      record.role,
      record.state,
      signsIn(record),
    ]),
  );
