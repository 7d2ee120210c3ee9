import { randomBytes } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { newId } from '../../src/auth/issue.ts';
import { verifyPassword } from '../../src/auth/passwords.ts';
import { signInByLink } from '../../src/auth/sign-in-links.ts';
import { runChecks } from '../../src/cli/doctor.ts';
import {
  cliDatabase,
  type Document,
  demoApp,
  document,
  dump,
  fed,
  gateway,
  issue,
  parse,
  type Ran,
  refused,
  text,
} from '../support/cli.ts';
import type { TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let installation: string;

beforeAll(async () => {
  database = await cliDatabase('demo');
  await database.sql`INSERT INTO platform.organization (tenant, external_id, name) VALUES (7, 'rival', 'Rival')`;
  ({ installation } = await demoApp());
});
afterAll(() => database.close());
afterEach(async () => {
  vi.restoreAllMocks();
  await database.sql`DELETE FROM gateway.person`;
});

const PASSWORD = 'correct horse battery';
const ADD = ['person', 'add', '--organization', 'larkspur', '--email', 'ada@example.org', '--role', 'owner'];

/** This value in a list of answers closes the terminal. The test then types no answer. */
const GONE = 'gone';

async function typed(answers: readonly string[], ...argv: string[]): Promise<Ran & { raw: boolean[] }> {
  const raw: boolean[] = [];
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (on: boolean) => {
      raw.push(on);
      return input;
    },
  });
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(input as unknown as typeof process.stdin); // the command uses only these members of a terminal
  const running = gateway(...argv);
  const asked = (): number =>
    vi.mocked(process.stderr.write).mock.calls.filter(([text]) => /: $/.test(String(text))).length;
  for (const [i, answer] of answers.entries()) {
    await expect.poll(asked).toBe(i + 1);
    if (answer === GONE) input.end();
    else input.write(answer);
  }
  return { ...(await running), raw };
}

const stored = async (email = 'ada@example.org'): Promise<string | null> =>
  (await database.sql<{ password: string | null }[]>`SELECT password FROM gateway.person WHERE email = ${email}`)[0]
    ?.password ?? null;

async function person(email = 'ada@example.org', organization = 'larkspur', role = 'admin'): Promise<string> {
  const made = await document(
    ...['person', 'add', '--organization', organization, '--email', email, '--role', role, '--no-password'],
  );
  return text(made, 'person_id');
}

async function session(id: string): Promise<void> {
  await database.sql`INSERT INTO gateway.session (digest, person_id, expires_at)
    VALUES (${randomBytes(32)}, ${id}, now() + interval '1 hour')`;
}
const sessions = async (): Promise<number> =>
  (await database.sql`SELECT count(*)::integer AS n FROM gateway.session`)[0]?.['n'];

describe('person add', () => {
  test('with a password from standard input, which is nowhere to be seen afterwards', async () => {
    const { code, stdout, stderr } = await fed(`${PASSWORD}\n`, ...ADD, '--password-stdin', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [organization] = await database.sql`SELECT public_id FROM platform.organization WHERE tenant = 1`;
    expect(parse(stdout)).toEqual({
      person_id: expect.stringMatching(/^prs_[a-f0-9]{32}$/),
      organization_id: organization?.['public_id'],
      email: 'ada@example.org',
      role: 'owner',
      state: 'active',
      password: true,
      identity: false,
      disabled_at: null,
      created_at: expect.stringMatching(/Z$/),
    });
    expect(await verifyPassword(PASSWORD, await stored())).toBe(true);
    expect(stdout).not.toContain(PASSWORD);
    expect(stdout).not.toContain('scrypt');
    expect(await dump(database)).not.toContain(PASSWORD);
  });

  test.each([
    ['one line end, of either kind, is no part of it', `${PASSWORD}\r\n`, PASSWORD],
    ['none is needed', PASSWORD, PASSWORD],
    ['a second one is', `${PASSWORD}\n\n`, `${PASSWORD}\n`],
    ['spaces are', `  ${PASSWORD} \n`, `  ${PASSWORD} `],
  ])('%s', async (_, input, password) => {
    expect(await fed(input, ...ADD, '--password-stdin')).toMatchObject({ code: 0 });
    expect(await verifyPassword(password, await stored())).toBe(true);
  });

  test.each([
    ['too short', 'x'.repeat(11), 'A password must have 12 to 256 characters.'],
    ['too long', 'x'.repeat(257), 'A password must have 12 to 256 characters.'],
    ['endless', 'x'.repeat(100_000), 'A password must have 12 to 256 characters.'],
    ['nothing', '', 'A password must have 12 to 256 characters.'],
    ['not UTF-8', Buffer.from('ff'.repeat(20), 'hex'), 'The password is not valid UTF-8.'],
  ])('%s: refused, and nobody is added', async (_, input, sentence) => {
    expect(await fed(input, ...ADD, '--password-stdin')).toEqual({
      code: 1,
      stdout: '',
      stderr: `gateway: ${sentence}\n`,
    });
    expect(await document('person', 'list')).toEqual({ people: [] });
  });

  test('without a terminal or --password-stdin there is none, and that is said', async () => {
    const { code, stdout, stderr } = await fed(`${PASSWORD}\n`, ...ADD, '--json');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /^No password was set: the person signs in by a one-time link\. Make one: gateway person sign-in-link prs_\w+\n$/,
      ),
    });
    expect(parse(stdout)).toMatchObject({ password: false });
    expect(await stored()).toBeNull();
    expect((await gateway('person', 'list')).stdout).toMatch(/ada@example\.org.*one-time link/);
    expect((await gateway('person', 'list')).stdout).not.toContain('identity provider');
    vi.stubEnv('GATEWAY_OIDC_ISSUER', 'https://identity.example');
    vi.stubEnv('GATEWAY_OIDC_CLIENT_ID', 'gateway');
    vi.stubEnv('GATEWAY_OIDC_CLIENT_SECRET', 'secret-of-the-gateway');
    expect((await gateway('person', 'list')).stdout).toMatch(/ada@example\.org.*identity provider/);
    vi.unstubAllEnvs();
  });

  test('on a terminal it is asked for twice, unseen', async () => {
    const ran = await typed([`${PASSWORD}\r`, `${PASSWORD}\r`], ...ADD);
    expect(ran).toMatchObject({ code: 0, stderr: 'Password: \nRepeat the password: \n', raw: [true, false] });
    expect(ran.stdout + ran.stderr).not.toContain(PASSWORD);
    expect(await verifyPassword(PASSWORD, await stored())).toBe(true);
  });

  test('on a terminal a mistyped character can be taken back', async () => {
    expect(await typed([`${PASSWORD}xx\x7f\x7f\r`, `${PASSWORD}\r`], ...ADD)).toMatchObject({ code: 0 });
    expect(await verifyPassword(PASSWORD, await stored())).toBe(true);
  });

  test.each([
    ['another one the second time', [`${PASSWORD}\r`, `${PASSWORD}!\r`], 'The passwords differ. Nothing was changed.'],
    ['a short one', ['short\r'], 'A password must have 12 to 256 characters.'],
    ['Ctrl-C', ['\x03'], 'No password was given. Nothing was changed.'],
    ['Ctrl-C at the second question', [`${PASSWORD}\r`, '\x03'], 'No password was given. Nothing was changed.'],
    ['which goes away', [GONE], 'No password was given. Nothing was changed.'],
    ['Ctrl-D', ['\x04'], 'No password was given. Nothing was changed.'],
  ])('on a terminal, %s: refused, and nobody is added', async (_, answers, sentence) => {
    const ran = await typed(answers, ...ADD);
    expect(ran).toMatchObject(refused(`gateway: ${sentence}\n`));
    expect(ran.raw.at(-1)).toBe(false);
    expect(await document('person', 'list')).toEqual({ people: [] });
  });

  test('an e-mail address is one person’s in an organization, however it is written', async () => {
    const id = await person();
    expect(await fed('', ...ADD.with(5, 'ADA@Example.org'), '--password-stdin')).toEqual({
      code: 1,
      stdout: '',
      stderr: `gateway: The organization already has a person ada@example.org: ${id}.\n`,
    });
    expect(await person('ada@example.org', 'rival')).not.toBe(id);
  });

  const LARKSPUR = ['--organization', 'larkspur'];
  const OWNER = ['--role', 'owner'];
  test.each([
    ['no organization', ['--email', 'a@b.example', ...OWNER], '--organization'],
    ['no e-mail', [...LARKSPUR, ...OWNER], '--email'],
    ['no role', [...LARKSPUR, '--email', 'a@b.example'], '--role'],
    ['no such role', [...LARKSPUR, '--email', 'a@b.example', '--role', 'boss'], 'owner, admin, operator'],
    ['no address', [...LARKSPUR, '--email', 'ada', ...OWNER], 'name@domain.example'],
    ['a hidden character', [...LARKSPUR, '--email', 'a\u202e@b.example', ...OWNER], 'name@domain'],
    ['with and without', [...ADD.slice(2), '--no-password', '--password-stdin'], 'contradicts'],
  ])('wrong usage: %s', async (_, options, help) => {
    const ran = await gateway('person', 'add', ...options);
    expect(ran).toMatchObject(refused(help, 2));
  });
});

describe('person disable, enable, role, password, list', () => {
  const ways = (id: string): [string, string[]][] => [
    ['by id', [id]],
    ['by e-mail address', ['Ada@example.org']],
    ['by organization and address', ['--organization', 'larkspur', '--email', 'ada@example.org']],
    ['by organization and argument', ['ada@example.org', '--organization', 'larkspur']],
  ];

  test('disable ends sessions at once, however the person is named; enable brings none back', async () => {
    const id = await person();
    for (const [way, argv] of ways(id)) {
      await session(id);
      const disabled = await document('person', 'disable', ...argv);
      expect(disabled, way).toMatchObject({
        person_id: id,
        state: 'disabled',
        disabled_at: expect.stringMatching(/Z$/),
      });
      expect(await sessions()).toBe(0);
      expect(await document('person', 'disable', ...argv), way).toEqual(disabled);
      expect(await document('person', 'enable', ...argv), way).toMatchObject({ state: 'active', disabled_at: null });
      expect(await sessions()).toBe(0);
    }
  });

  test('another role; an operator’s sessions end', async () => {
    const id = await person();
    await session(id);
    expect(await document('person', 'role', id, '--role', 'owner')).toMatchObject({ role: 'owner' });
    expect(await sessions()).toBe(1);
    expect(await document('person', 'role', id, '--role', 'operator')).toMatchObject({ role: 'operator' });
    expect(await sessions()).toBe(0);
    expect((await gateway('person', 'list')).stdout).toContain('operator');
  });

  test('another password ends sessions; it can be taken away', async () => {
    const id = await person();
    await session(id);
    expect(await fed(PASSWORD, 'person', 'password', id, '--password-stdin')).toMatchObject({ code: 0 });
    expect(await sessions()).toBe(0);
    expect(await verifyPassword(PASSWORD, await stored())).toBe(true);
    expect(await typed([`${PASSWORD}2\r`, `${PASSWORD}2\r`], 'person', 'password', id)).toMatchObject({ code: 0 });
    expect(await verifyPassword(`${PASSWORD}2`, await stored())).toBe(true);
    expect(await fed('', 'person', 'password', id)).toMatchObject({
      code: 1,
      stderr: 'gateway: There is no terminal to ask for a password. Use --password-stdin or --no-password.\n',
    });
    expect(await document('person', 'password', id, '--no-password')).toMatchObject({ password: false });
    expect(await stored()).toBeNull();
  });

  test('list tells who there is, of all organizations or of one', async () => {
    const ada = await person();
    const eve = await person('eve@example.org', 'rival', 'operator');
    await database.sql`UPDATE gateway.person SET subject = 's' WHERE id = ${eve}`;
    expect(await document('person', 'list')).toMatchObject({
      people: [
        { person_id: ada, identity: false },
        { person_id: eve, role: 'operator', identity: true },
      ],
    });
    expect(await document('person', 'list', '--organization', 'rival')).toMatchObject({ people: [{ person_id: eve }] });
    const { stdout } = await gateway('person', 'list');
    expect(stdout).toMatch(/^PERSON +E-MAIL +ORGANIZATION +ROLE +STATE +SIGNS IN BY\n/);
    expect(stdout).toContain('eve@example.org');
  });

  test('an address of two organizations is asked about', async () => {
    const one = await person();
    const two = await person('ada@example.org', 'rival');
    expect(await gateway('person', 'disable', 'ada@example.org')).toEqual({
      code: 1,
      stdout: '',
      stderr: `gateway: "ada@example.org" matches more than one person: ${one} (ada@example.org, organization larkspur), ${two} (ada@example.org, organization rival). Use the id.\n`,
    });
    expect(await document('person', 'disable', '--organization', 'rival', '--email', 'ada@example.org')).toMatchObject({
      person_id: two,
    });
  });

  test.each([
    [['disable'], 2, 'PERSON'],
    [['disable', '--organization', 'larkspur'], 2, 'PERSON'],
    [['disable', 'ada@example.org', '--email', 'ada@example.org'], 2, '--email'],
    [['role', 'ada@example.org'], 2, '--role'],
    [['password', 'x', '--no-password', '--password-stdin'], 2, 'contradicts'],
    [['enable', 'nobody@example.org'], 1, 'There is no person "nobody@example.org".'],
    [['disable', `prs_${'0'.repeat(32)}`], 1, 'There is no person'],
    [['list', '--organization', 'nobody'], 1, 'There is no organization "nobody".'],
  ])('%j: exit code %i', async (argv, code, help) => {
    const ran = await gateway('person', ...argv);
    expect(ran).toMatchObject(refused(help, code));
  });
});

describe('consent', () => {
  interface Planted {
    readonly id: string;
    readonly access: Buffer;
    readonly refresh: Buffer;
  }

  async function consent(credential: string, by: string, renewable = true): Promise<Planted> {
    const { sql } = database;
    const [id, access, refresh] = [newId('cns'), randomBytes(32), randomBytes(32)];
    await sql`
      INSERT INTO gateway.consent (id, credential_id, person_id, request, audience, scopes, sites, renewable, code_digest,
                                   code_challenge, code_expires_at, code_used_at, redirect_uri, expires_at)
      VALUES (${id}, ${credential}, ${by}, ${randomBytes(32)}, 'mcp', '{website_read,reports_read}', '{1,2}', ${renewable},
              ${randomBytes(32)}, 'x', now() + interval '1 minute', now(), 'https://app.example/cb', now() + interval '8 hours')`;
    await sql`
      INSERT INTO gateway.token (digest, credential_id, kind, audience, scopes, sites, consent_id, expires_at)
      VALUES (${access}, ${credential}, 'access', 'mcp', '{website_read}', '{1}', ${id}, now() + interval '15 minutes')`;
    if (renewable) {
      await sql`INSERT INTO gateway.refresh_token (digest, consent_id, expires_at)
        VALUES (${refresh}, ${id}, now() + interval '1 hour')`;
    }
    return { id, access, refresh };
  }
  const credentialId = async (): Promise<string> => text(await issue(installation), 'credential_id');
  const only = async (...argv: string[]): Promise<unknown[]> => {
    const { consents } = await document('consent', 'list', ...argv);
    return (consents as Document[]).map(({ consent_id }) => consent_id); // a test below checks the shape of the consents
  };

  test('list shows what was consented to, by credential, person or organization', async () => {
    const credential = await credentialId();
    await database.sql`UPDATE gateway.credential SET data_access = '{pii}', channel_ids = '{chn_1_1_1}' WHERE id = ${credential}`;
    const [ada, grace] = [await person(), await person('grace@example.org')];
    const one = await consent(credential, ada);
    const two = await consent(await credentialId(), grace, false);
    await database.sql`UPDATE gateway.credential SET data_access = '{message_content}', channel_ids = NULL WHERE id = ${credential}`;
    const { consents } = await document('consent', 'list', '--credential', credential);
    expect(consents).toEqual([
      {
        consent_id: one.id,
        credential_id: credential,
        app_id: expect.stringMatching(/^app_/),
        app_name: 'Test agent',
        organization_id: expect.stringMatching(/^org_/),
        person_id: ada,
        email: 'ada@example.org',
        resource: 'mcp',
        scopes: ['website_read', 'reports_read'],
        website_ids: ['web_1_1', 'web_1_2'],
        data_access: ['pii'],
        restrictions: { channel_ids: ['chn_1_1_1'] },
        renewable: true,
        state: 'active',
        because: null,
        created_at: expect.stringMatching(/Z$/),
        expires_at: expect.stringMatching(/Z$/),
        revoked_at: null,
      },
    ]);
    expect(await only()).toEqual([one.id, two.id]);
    expect(await only('--person', grace)).toEqual([two.id]);
    expect(await only('--person', 'ada@example.org')).toEqual([one.id]);
    expect(await only('--organization', 'larkspur')).toEqual([one.id, two.id]);
    expect(await only('--organization', 'rival')).toEqual([]);
    const { stdout } = await gateway('consent', 'list');
    expect(stdout).toMatch(/^CONSENT +APP +PERSON +RESOURCE +WEBSITES +RENEWABLE +STATE +EXPIRES\n/);
    expect(stdout).toContain('grace@example.org');
  });

  test('revoke ends the consent and its tokens, and nothing else; once', async () => {
    const credential = await credentialId();
    const by = await person();
    const [one, two] = [await consent(credential, by), await consent(credential, by)];
    const revoked = await document('consent', 'revoke', one.id);
    expect(revoked).toMatchObject({ consent_id: one.id, state: 'revoked', because: 'revoked' });
    expect(await database.sql`SELECT digest FROM gateway.token WHERE kind = 'access' AND revoked_at IS NULL`).toEqual([
      { digest: two.access },
    ]);
    expect(await document('consent', 'revoke', one.id)).toEqual(revoked);
    expect((await gateway('consent', 'revoke', two.id)).stdout).toBe(`Consent ${two.id} is revoked.\n`);
    const none = `cns_${'0'.repeat(32)}`;
    expect(await gateway('consent', 'revoke', none)).toMatchObject({
      code: 1,
      stderr: `gateway: There is no consent "${none}".\n`,
    });
    expect(await gateway('consent', 'revoke')).toMatchObject({ code: 2 });
  });

  test('another password leaves consents as they are and says how to end them, or ends them', async () => {
    const [credential, ada, grace] = [await credentialId(), await person(), await person('grace@example.org')];
    const planted = await Promise.all([consent(credential, ada), consent(credential, ada), consent(credential, ada)]);
    const beside = await consent(credential, grace);
    await document('consent', 'revoke', planted[2].id);
    const told = await fed(PASSWORD, 'person', 'password', ada, '--password-stdin');
    expect(told.stdout).toContain(`2 active. List them: \`gateway consent list --person ${ada}\`.`);
    expect(told.stdout).toContain('--end-consents');
    expect(await document('person', 'password', ada, '--no-password')).toMatchObject({
      person_id: ada,
      password: false,
      consents_active: 2,
      consents_ended: 0,
    });
    const live = async (): Promise<number> =>
      (
        await database.sql`SELECT count(*)::integer AS n FROM gateway.token WHERE kind = 'access' AND revoked_at IS NULL`
      )[0]?.['n'];
    expect(await live()).toBe(3);
    const ending = ['person', 'password', ada, '--no-password', '--end-consents'];
    expect(await document(...ending)).toMatchObject({ consents_active: 0, consents_ended: 2 });
    expect(await live()).toBe(1);
    expect((await gateway(...ending)).stdout).toContain('0 ended, 0 active');
    expect((await gateway('person', 'password', ada, '--no-password')).stdout).toContain('none is active');
    const { consents } = await document('consent', 'list', '--person', ada);
    expect((consents as Document[]).map(({ because }) => because)).toEqual(['revoked', 'revoked', 'revoked']); // a test above checks the shape of the consents
    const { consents: others } = await document('consent', 'list', '--person', grace);
    expect(others).toMatchObject([{ consent_id: beside.id, state: 'active' }]);
    expect(
      await gateway('person', 'password', `prs_${'0'.repeat(32)}`, '--no-password', '--end-consents'),
    ).toMatchObject(refused('There is no person'));
  });

  type End = (planted: Planted & { by: string; credential: string }) => Promise<unknown>;
  const at = (what: string) => (planted: Planted) =>
    database.sql.unsafe(`UPDATE gateway.consent SET ${what} WHERE id = '${planted.id}'`);
  const lapse = async ({ access, refresh }: Planted): Promise<void> => {
    await database.sql`UPDATE gateway.token SET expires_at = now() WHERE digest = ${access}`;
    await database.sql`UPDATE gateway.refresh_token SET expires_at = now() WHERE digest = ${refresh}`;
  };
  test.each<[string, string, string | null, End]>([
    ['its time is over', 'expired', 'time', at('expires_at = now()')],
    [
      'its code was never exchanged',
      'expired',
      'unused',
      at("code_used_at = NULL, code_expires_at = now() - interval '1 second'"),
    ],
    ['its code waits to be exchanged', 'active', null, at('code_used_at = NULL')],
    ['no token is left', 'expired', 'unused', lapse],
    [
      'the refresh token is left',
      'active',
      null,
      ({ access }) => database.sql`UPDATE gateway.token SET expires_at = now() WHERE digest = ${access}`,
    ],
    [
      'the credential has expired',
      'expired',
      'credential_expired',
      ({ credential }) => database.sql`UPDATE gateway.credential SET expires_at = now() WHERE id = ${credential}`,
    ],
    [
      'the credential is revoked',
      'revoked',
      'credential',
      ({ credential }) => document('credential', 'revoke', credential),
    ],
    [
      'the credential is rotated',
      'revoked',
      'credential',
      ({ credential }) => document('credential', 'rotate', credential),
    ],
    ['the person is disabled', 'revoked', 'person', ({ by }) => document('person', 'disable', by)],
    [
      'the person is an operator now',
      'revoked',
      'person',
      ({ by }) => document('person', 'role', by, '--role', 'operator'),
    ],
    [
      'an old refresh token was shown',
      'revoked',
      'refresh_reused',
      at("revoked_at = now(), revoked_because = 'refresh_reused'"),
    ],
  ])('when %s it is %s, because %s', async (_, state, because, end) => {
    const [credential, by] = [await credentialId(), await person()];
    const planted = await consent(credential, by);
    await end({ ...planted, by, credential });
    const { consents } = await document('consent', 'list');
    expect(consents).toMatchObject([{ consent_id: planted.id, state, because }]);
  });

  describe('doctor', () => {
    const findings = () => runChecks(database.db);
    const finding = (check: string, count: number) => [
      expect.objectContaining({ check, count, severity: 'error', detail: expect.any(String) }),
    ];

    test('consents in order, ended in every way, are none', async () => {
      const [credential, by] = [await credentialId(), await person()];
      for (let i = 0; i < 3; i++) await session(by);
      const planted = await Promise.all(Array.from({ length: 4 }, () => consent(credential, by)));
      await document('consent', 'revoke', planted[0]?.id ?? '');
      await at('expires_at = now()')({ ...planted[1] } as Planted); // `planted` has several elements
      await lapse({ ...planted[1] } as Planted); // `planted` has several elements
      expect(await findings()).toEqual([]);
      await document('person', 'disable', by);
      expect(await findings()).toEqual([]);
      await document('credential', 'rotate', credential);
      expect(await findings()).toEqual([]);
    });

    test.each<[string, string, number, End]>([
      [
        'a token revived',
        'oauth_tokens',
        1,
        async ({ id, access }) => {
          await document('consent', 'revoke', id);
          await database.sql`UPDATE gateway.token SET revoked_at = NULL WHERE digest = ${access}`;
        },
      ],
      ['a token longer than its consent', 'oauth_tokens', 1, at('expires_at = now()')],
      [
        'a token of no consent',
        'oauth_tokens',
        1,
        ({ access }) => database.sql`UPDATE gateway.token SET consent_id = 'cns_gone' WHERE digest = ${access}`,
      ],
      [
        'a token of no credential',
        'oauth_tokens',
        1,
        ({ access }) => database.sql`
          UPDATE gateway.token SET credential_id = 'crd_gone', consent_id = NULL WHERE digest = ${access}`,
      ],
      [
        'a token of another credential than its consent',
        'oauth_tokens',
        1,
        async ({ access }) => database.sql`
          UPDATE gateway.token SET credential_id = ${await credentialId()} WHERE digest = ${access}`,
      ],
      [
        'a session of somebody who is disabled',
        'people',
        1,
        async ({ by }) => {
          await document('person', 'disable', by);
          await session(by);
        },
      ],
      [
        'a consent of an operator',
        'people',
        1,
        async ({ by, id }) => {
          await document('person', 'role', by, '--role', 'operator');
          await at('revoked_at = NULL, revoked_because = NULL')({ id } as Planted); // the statement uses only the id of the consent
        },
      ],
      [
        'a second refresh token',
        'refresh',
        1,
        ({ id }) => database.sql`INSERT INTO gateway.refresh_token (digest, consent_id, expires_at)
          VALUES (${randomBytes(32)}, ${id}, now() + interval '1 hour')`,
      ],
    ])('%s', async (_, check, count, defect) => {
      const [credential, by] = [await credentialId(), await person()];
      const planted = await consent(credential, by);
      await consent(credential, by);
      expect(await findings()).toEqual([]);
      await defect({ ...planted, by, credential });
      expect(await findings()).toEqual(finding(check, count));
      await database.sql`DELETE FROM gateway.token WHERE kind = 'access'`;
    });
  });
});

test.each([
  ['--help', ['person', 'consent']],
  ['person --help', ['add', 'disable', 'enable', 'list', 'role', 'password']],
  ['person add --help', ['--organization', '--email', '--role', '--password-stdin', '--no-password', '--json']],
  ['consent --help', ['list', 'revoke']],
  ['consent list --help', ['--credential', '--person', '--organization']],
  ['person password --help', ['--password-stdin', '--no-password', '--end-consents']],
])('%s', async (argv, words) => {
  const { code, stdout } = await gateway(...argv.split(' '));
  expect(code).toBe(0);
  for (const word of words) expect(stdout).toContain(word);
});

describe('person sign-in-link', () => {
  test('prints a link that works once, and the store has only its digest', async () => {
    await gateway(...ADD, '--no-password');
    const made = await document('person', 'sign-in-link', 'ada@example.org');
    expect(made).toEqual({
      person_id: expect.stringMatching(/^prs_/),
      url: expect.stringMatching(/^http:\/\/[^/]+\/console\/enter\?link=igwl_\w{49}$/),
      expires_at: expect.any(String),
    });
    const link = text(made, 'url').split('=')[1] ?? '';
    expect(await dump(database)).not.toContain(link);
    const use = () => signInByLink(database.db, link);
    expect(await use()).toMatchObject({ person: text(made, 'person_id') });
    expect(await use()).toEqual({ ended: [] });
    expect((await gateway('person', 'sign-in-link', 'ada@example.org')).stdout).toContain(
      'The link works once, until ',
    );
  });

  test('refuses a disabled person and nobody', async () => {
    await gateway(...ADD, '--no-password');
    await gateway('person', 'disable', 'ada@example.org');
    expect(await gateway('person', 'sign-in-link', 'ada@example.org')).toEqual(refused('Only an owner or admin'));
    expect(await gateway('person', 'sign-in-link', 'nobody@example.org')).toEqual(refused('There is no person'));
  });
});
