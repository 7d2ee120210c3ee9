import { single } from '../../../auth/oauth/parameters.ts';
import { emailOf } from '../../../auth/sign-in.ts';
import { pick } from '../../../core/json.ts';
import {
  changeRole,
  disable,
  enable,
  findPerson,
  invite,
  listPeople,
  type PersonSummary,
  ROLES,
} from '../../../gateway/console/administration.ts';
import { type Html, html } from '../../http/html.ts';
import { EMAIL, named, plain } from '../../http/pages/shell.ts';
import { COLUMNS } from '../columns.ts';
import { heading } from '../frame.ts';
import type { Asked, ConsoleAct, ConsolePage, ShownPage } from '../page.ts';
import { actForm, changedMeanwhile, commands, dangerous, facts, personCommand, state, time } from '../parts.ts';
import { empty, exported, list, nameColumn, options, table, titled } from '../table.ts';

const PEOPLE = '/console/people';
const ADD = `${PEOPLE}/add`;
const ADDED = `${ADD}/send`;
const STATES = ['active', 'disabled'] as const;
const MEANS: Readonly<Record<PersonSummary['role'], string>> = {
  owner: 'approves apps, sees records, uses the console, makes other owners',
  admin: 'approves apps, sees records, uses the console',
  operator: 'cannot sign in here',
};
const APPROVES = 'decides here about writes of the credentials that name the person, and sees nothing else';
/** The console lets in people with the role operator only as approvers. */
const isApprover = ({ role, approver }: PersonSummary): boolean => role === 'operator' && approver;

/** Undefined for a person who cannot come in. */
function signsIn(one: PersonSummary, provider: string | undefined): string | undefined {
  if (one.role === 'operator' && !isApprover(one)) return undefined;
  if (one.password) return ['password', ...(one.identity ? ['identity provider'] : [])].join(', ');
  return one.identity || provider !== undefined ? 'identity provider' : 'one-time link';
}

const personList: ConsolePage = {
  path: /^\/console\/people$/,
  operation: 'console_people',
  async show(asked) {
    const { query } = asked;
    const search = {
      role: query.one('role', ROLES),
      state: query.one('state', STATES),
      text: query.text('q'),
    };
    const { rows, total } = await listPeople(asked.desk, search, query.slice);
    const file = exported(asked, 'people', COLUMNS.people, rows.map(personDocument));
    if (file) return file;
    return {
      title: 'People',
      body: html`${heading('People', 'Who may sign in, approve apps and see records.', html`<a class="button" href="${ADD}">Add a person</a>`)}
${list({
  path: PEOPLE,
  query,
  noun: ['person', 'people'],
  total,
  filters: [
    { name: 'q', label: 'E-mail' },
    { name: 'role', label: 'Role', choices: titled(ROLES) },
    { name: 'state', label: 'State', choices: titled(STATES) },
  ],
  table: table(
    'People',
    [nameColumn('E-mail'), 'Role', 'State', 'Signs in by', 'Signed in'],
    rows.map((one) => [
      html`<a href="${PEOPLE}/${one.id}">${named(one.email, EMAIL)}</a>${one.id === asked.person.id ? html` <span class="small">you</span>` : undefined}`,
      isApprover(one) ? 'operator, approver' : one.role,
      state(one.state, one.state === 'active' ? 'good' : 'off'),
      signsIn(one, asked.identity),
      one.signed_in_at ? time(one.signed_in_at) : undefined,
    ]),
  ),
  empty: empty('There is nobody yet', html`<a href="${ADD}">Add a person</a>`),
})}`,
    };
  },
};

const personDocument = (one: PersonSummary): Record<string, unknown> => ({
  person_id: one.id,
  ...pick(one, 'email', 'role', 'state', 'password', 'identity', 'disabled_at', 'created_at', 'approver'),
});

const personPage: ConsolePage = {
  path: /^\/console\/people\/(prs_[a-f0-9]{32})$/,
  operation: 'console_person',
  show: (asked) => shown(asked),
};

async function shown(asked: Asked, stale?: (one: PersonSummary) => Html): Promise<ShownPage | undefined> {
  const [id = ''] = asked.parameters;
  const one = await findPerson(asked.desk, id);
  if (!one) return undefined;
  return {
    title: one.email,
    ...(stale && { status: 409 }),
    body: html`<p class="up"><a href="${PEOPLE}">People</a></p>
${heading(named(one.email, EMAIL))}${stale?.(one)}
${facts([
  ['State', state(one.state, one.state === 'active' ? 'good' : 'off')],
  ['Role', html`${one.role} <span class="small">${isApprover(one) ? APPROVES : MEANS[one.role]}</span>`],
  ['Signs in by', signsIn(one, asked.identity) ?? '–'],
  ['Signed in', one.signed_in_at ? time(one.signed_in_at) : 'Not now'],
  ['Added', time(one.created_at)],
  one.disabled_at ? ['Disabled', time(one.disabled_at)] : undefined,
  ['Consents', html`<a href="/console/consents?person=${one.id}">Consents of this person</a>`],
  ['Audit', html`<a href="/console/audit?person=${one.id}">Records of this person</a>`],
  ['Id', html`<code>${one.id}</code>`],
])}
${changes(asked, one)}
${one.state === 'active' && (one.role !== 'operator' || isApprover(one)) ? signIn(asked, one) : undefined}`,
  };
}

/** What only the operator can do for somebody who cannot come in. */
const signIn = ({ identity }: Asked, { id, password }: PersonSummary): Html => html`
<h2>Sign-in</h2>
<details class="more"><summary>This person cannot sign in</summary>
<p>The operator of this gateway can help. After too many failed sign-ins, this command lets the person try again at once:</p>
${commands(personCommand('unlock', id))}
<p>A ${password ? 'new' : 'first'} password${identity === undefined ? undefined : html`, beside ${named(identity)}`}, or a link that signs in once, within 15 minutes:</p>
${commands(personCommand('password', id), personCommand('sign-in-link', id))}
</details>`;

function changes(asked: Asked, one: PersonSummary): Html {
  const { person } = asked;
  if (one.id === person.id)
    return html`<p class="note">This is you. Another owner${person.role === 'owner' ? '' : ' or admin'} can change your role or disable you.</p>`;
  if (one.role === 'owner' && person.role !== 'owner')
    return html`<p class="note">Only an owner can change an owner.</p>`;
  return html`<h2>Role</h2>
${actForm(asked, {
  action: `${PEOPLE}/${one.id}/role`,
  button: 'Change role',
  fields: html`<input type="hidden" name="was" value="${one.role}"><p class="field"><label for="role">New role</label> ${roleChoice(asked, one.role)}</p>
  <p class="small">As an operator, the person can no longer sign in here, or only as an approver: sessions and consents of the person end.</p>`,
})}
<h2>Access</h2>
${
  one.state === 'active'
    ? dangerous(asked, {
        summary: 'Disable this person',
        says: html`Sessions and consents of the person end at once. The consents end for ever. You can let the person sign in
again later.`,
        action: `${PEOPLE}/${one.id}/disable`,
        button: 'Disable person',
      })
    : actForm(asked, { action: `${PEOPLE}/${one.id}/enable`, button: 'Let the person sign in again' })
}`;
}

/** Only an owner makes another owner. */
function roleChoice({ person }: Asked, chosen: string): Html {
  const roles = ROLES.filter((role) => role !== 'owner' || person.role === 'owner');
  return html`<select id="role" name="role">${options(titled(roles), chosen)}</select>`;
}

/** The form for a new person. After a refusal it shows the values again, and what is wrong. */
function addForm(asked: Asked, given: { email: string; role: string; problem?: string }): ShownPage {
  const { problem } = given;
  const described = problem === undefined ? undefined : html` aria-describedby="problem" aria-invalid="true"`;
  return {
    title: problem === undefined ? 'Add a person' : 'Problem: Add a person',
    ...(problem !== undefined && { status: 400 }),
    body: html`<p class="up"><a href="${PEOPLE}">People</a></p>
${heading('Add a person')}
${problem === undefined ? undefined : html`<div class="problem" role="alert"><p id="problem">${problem}</p></div>`}
${actForm(asked, {
  action: ADDED,
  button: 'Add person',
  fields: html`<p class="field"><label for="email">E-mail</label>
    <input id="email" name="email" type="email" value="${plain(given.email, EMAIL)}" autocomplete="off" autocapitalize="none" spellcheck="false" required${described}></p>
  <p class="field"><label for="role">Role</label> ${roleChoice(asked, given.role)}</p>
  <p class="small">${
    asked.identity === undefined
      ? html`Nobody is told. Then the operator of this gateway sets a password, or makes a link that signs the person in. The page
of the person has the commands.`
      : html`The person signs in with ${named(asked.identity)}. The operator can also set a password.`
  }</p>`,
})}`,
  };
}

const addPage: ConsolePage = {
  path: /^\/console\/people\/add$/,
  operation: 'console_person_add',
  show: async (asked) => addForm(asked, { email: '', role: 'admin' }),
};

const add: ConsoleAct = {
  path: /^\/console\/people\/add\/send$/,
  operation: 'person_add',
  fields: ['email', 'role'],
  from: () => ADD,
  async run(asked, form) {
    const typed = single(form, 'email') ?? '';
    const role = ROLES.find((one) => one === single(form, 'role')) ?? 'operator';
    const email = emailOf(typed);
    const given = { email: typed, role };
    if (email === '')
      return addForm(asked, { ...given, problem: 'Type an e-mail address such as name@domain.example.' });
    const added = await invite(asked.desk, { email, role });
    if (added) return { to: `${PEOPLE}/${added.id}`, notice: 'person_added', target: added.id };
    const [known] = (await listPeople(asked.desk, { text: email }, { limit: 25, offset: 0 })).rows.filter(
      (one) => one.email === email,
    );
    return (
      known && addForm(asked, { ...given, problem: `Your organization already has a person with this e-mail address.` })
    );
  },
};

const role: ConsoleAct = {
  path: /^\/console\/people\/(prs_[a-f0-9]{32})\/role$/,
  operation: 'person_role',
  fields: ['role', 'was'],
  from: ([id = '']) => `${PEOPLE}/${id}`,
  async run(asked, form) {
    const [id = ''] = asked.parameters;
    const wanted = ROLES.find((one) => one === single(form, 'role'));
    const was = single(form, 'was') ?? '';
    const changed = wanted && (await changeRole(asked.desk, id, wanted, was));
    if (changed) return { to: `${PEOPLE}/${id}`, notice: 'role_changed', target: id };
    const now = await findPerson(asked.desk, id);
    return now && now.role !== was
      ? shown(asked, (one) =>
          changedMeanwhile(
            html`The role is <strong>${one.role}</strong> now. Choose again, if you still want to change it.`,
          ),
        )
      : undefined;
  },
};

const access = (name: 'disable' | 'enable', change: typeof disable): ConsoleAct => ({
  path: new RegExp(`^/console/people/(prs_[a-f0-9]{32})/${name}$`),
  operation: `person_${name}`,
  fields: [],
  from: ([id = '']) => `${PEOPLE}/${id}`,
  async run({ desk, parameters: [id = ''] }) {
    const changed = await change(desk, id);
    return changed && { to: `${PEOPLE}/${id}`, notice: `person_${name}d`, target: id };
  },
});

export const personPages: readonly ConsolePage[] = [personList, personPage, addPage];
export const personActs: readonly ConsoleAct[] = [add, role, access('disable', disable), access('enable', enable)];
