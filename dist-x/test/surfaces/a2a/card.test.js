import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPES } from '../../../src/core/scopes.js';
import { PATIENCE } from '../../../src/tasks/tasks.js';
import { CONTRACT_SKILLS } from '../../support/contract.js';
import { BASE_URL, openTestGateway } from '../../support/gateway.js';
import { rpc, work } from '../../support/surfaces/a2a.js';
const CARD = '/.well-known/agent-card.json';
let gateway;
let card;
beforeAll(async () => {
    gateway = await openTestGateway();
    card = await gateway.ask(CARD);
});
afterAll(() => gateway.close());
const ask = (options = {}) => gateway.ask(CARD, { unchecked: true, ...options });
const SCHEMES = ['bearer', 'oauth2_client_credentials', 'oauth2_authorization_code'];
const waysOf = (requirements) => requirements
    .flatMap(({ schemes }) => Object.entries(schemes).map(([scheme, { list = [] }]) => `${scheme} ${list.toSorted().join(' ')}`))
    .sort();
/** Each of the scope sets in each of the three schemes. */
const threeWays = (sets) => SCHEMES.flatMap((scheme) => sets.map((set) => `${scheme} ${set.split(' ').sort().join(' ')}`)).sort();
describe('A2-01 the agent card', () => {
    it('A2-01 is public, the same for everybody, and may be kept for five minutes', async () => {
        expect(card.status).toBe(200);
        expect(card.headers['content-type']).toBe('application/json');
        expect(card.headers['cache-control']).toBe('public, max-age=300');
        expect(card.headers['etag']).toMatch(/^"[\w-]{43}"$/);
        const { token } = await gateway.issue();
        for (const options of [{ token }, { token: 'nonsense' }, { headers: { 'a2a-version': '0.3' } }]) {
            const other = await ask(options);
            expect([other.status, other.text, other.headers['etag']]).toEqual([200, card.text, card.headers['etag']]);
        }
    });
    it('tells how long a call waits', () => {
        expect(PATIENCE).toBe(30_000);
        expect(card.body.description).toContain(`at most ${PATIENCE / 1000} seconds`);
    });
    it('A2-01 answers 304 to who has it, HEAD without a body, and GET and HEAD only', async () => {
        const etag = String(card.headers['etag']);
        const same = await ask({ headers: { 'if-none-match': etag } });
        expect([same.status, same.text, same.headers['etag']]).toEqual([304, '', etag]);
        expect((await ask({ headers: { 'if-none-match': '"other"' } })).status).toBe(200);
        const head = await ask({ method: 'HEAD' });
        expect([head.status, head.text, head.headers['content-length']]).toEqual([200, '', String(card.bytes.length)]);
        for (const method of ['POST', 'PUT', 'DELETE']) {
            const answer = await ask({ method });
            expect([answer.status, answer.headers['allow']], method).toEqual([405, 'GET, HEAD']);
        }
        for (const path of [`${CARD}/`, '/.well-known/agent.json', '/.well-known/Agent-Card.json'])
            expect((await gateway.ask(path, { unchecked: true })).status, path).toBe(404);
    });
    it('A2-01 holds no secret, and none of the SDK’s inner form', async () => {
        expect(card.text).not.toMatch(/igw[a-z]*_(live|test)|igws_|\$case|"value":\{|undefined|\[object/);
        expect(Buffer.byteLength(card.text)).toBeLessThan(20_000);
    });
    it('says what decisions 20 says', async () => {
        const { body } = card;
        expect(body).toMatchObject({
            name: 'Installation Gateway',
            version: '1.0.0',
            supportedInterfaces: ['1.0', '0.3'].map((protocolVersion) => ({
                url: `${BASE_URL}/a2a`,
                protocolBinding: 'JSONRPC',
                protocolVersion,
            })),
            provider: { organization: expect.any(String), url: expect.any(String) },
            documentationUrl: `${BASE_URL}/docs/guides/agent_tasks`,
            capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
            defaultInputModes: ['application/json', 'text/plain'],
            defaultOutputModes: ['application/json', 'text/plain'],
        });
        expect(body.description).toContain('30 seconds');
        expect((await gateway.ask('/docs/guides/agent_tasks', { unchecked: true })).status).toBe(200);
    });
    it('names its ways to authenticate: a bearer, and the two flows of OAuth with PKCE', async () => {
        const { securitySchemes } = card.body;
        expect(Object.keys(securitySchemes)).toEqual(['bearer', 'oauth2_client_credentials', 'oauth2_authorization_code']);
        expect(securitySchemes.bearer.httpAuthSecurityScheme.scheme).toBe('Bearer');
        const [client, code] = [
            securitySchemes.oauth2_client_credentials.oauth2SecurityScheme.flows,
            securitySchemes.oauth2_authorization_code.oauth2SecurityScheme.flows,
        ];
        // In the protobuf message of A2A, a security scheme can have only one flow. Two flows therefore need two schemes.
        expect([Object.keys(client), Object.keys(code)]).toEqual([['clientCredentials'], ['authorizationCode']]);
        expect(client.clientCredentials.tokenUrl).toBe(`${BASE_URL}/oauth/token`);
        expect(code.authorizationCode).toMatchObject({
            authorizationUrl: `${BASE_URL}/oauth/authorize`,
            tokenUrl: `${BASE_URL}/oauth/token`,
            pkceRequired: true,
        });
        const needed = new Set(Object.values(CONTRACT_SKILLS).flatMap(({ scopes, more = '', oneOf = [] }) => [scopes, more, ...oneOf].flatMap((text) => text.split(' ').filter(Boolean))));
        for (const { scopes } of [client.clientCredentials, code.authorizationCode]) {
            expect(new Set(Object.keys(scopes))).toEqual(needed);
            for (const scope of Object.keys(scopes))
                expect(SCOPES).toContain(scope);
        }
    });
    it('lists the eight skills with the scopes of each', () => {
        const skills = card.body.skills;
        expect(skills.map(({ id }) => id)).toEqual(Object.keys(CONTRACT_SKILLS).sort());
        for (const { id, tags, securityRequirements } of skills) {
            expect(tags.length).toBeGreaterThan(0);
            const { scopes = '', oneOf = [scopes] } = CONTRACT_SKILLS[id] ?? {};
            expect(waysOf(securityRequirements), id).toEqual(threeWays(oneOf));
        }
    });
    it('asks of every token only the smallest grants with which a skill runs', () => {
        expect(waysOf(card.body.securityRequirements)).toEqual(threeWays(['conversation_read', 'contact_read', 'config_read', 'ai_features_read ai_execute']));
    });
    it('publishes the schema of each skill’s arguments by an extension that nobody has to know', async () => {
        const [extension, ...others] = card.body.capabilities.extensions;
        expect(others).toEqual([]);
        expect(extension.uri).toBe('urn:installation-gateway:a2a:skill-input-schemas:v1');
        expect(extension.required ?? false).toBe(false);
        expect(Object.keys(extension.params).sort()).toEqual(Object.keys(CONTRACT_SKILLS).sort());
        const ajv = new Ajv2020({ strict: false });
        const skills = card.body.skills;
        for (const { id, examples } of skills) {
            const valid = ajv.compile(extension.params[id]);
            expect(examples.length).toBeGreaterThan(0);
            for (const example of examples) {
                const data = JSON.parse(example);
                expect(data.skill).toBe(id);
                expect(valid(data.arguments), `${id} ${ajv.errorsText(valid.errors)}`).toBe(true);
                expect(valid({ ...data.arguments, more: 1 })).toBe(false);
            }
            // The keys of a customer replace each other, so the schema requires none.
            expect(valid({})).toBe(id === 'customer_lookup');
        }
    });
    it('has examples that run as they stand on the demo data, and find something', async () => {
        const { token } = await gateway.issue();
        const skills = card.body.skills;
        let ran = 0;
        for (const example of skills.flatMap(({ examples }) => examples)) {
            const message = JSON.parse(example);
            expect(Object.keys(message)).toEqual(['skill', 'arguments']);
            const answer = await rpc(gateway.port, token, 'SendMessage', work(message.skill, message.arguments));
            const { status, artifacts } = answer.body.result?.task ?? expect.fail(`${example} ${answer.text}`);
            expect(status.state, `${example} ${answer.text}`).toBe('TASK_STATE_COMPLETED');
            const { data } = artifacts[0].parts[0];
            for (const list of [data.results, data.data?.customers])
                if (list)
                    expect(list.length, example).toBeGreaterThan(0);
            ran++;
        }
        expect(ran).toBeGreaterThanOrEqual(skills.length);
    });
});
//# sourceMappingURL=card.test.js.map