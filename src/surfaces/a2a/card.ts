import { AgentCard, type OAuthFlows, type SecurityRequirement, type SecurityScheme } from '@a2a-js/sdk';
import { conditionName } from '../../core/conditions.ts';
import { jsonSchema } from '../../core/json-schema.ts';
import { both, grantsText, SCOPES, type Scope } from '../../core/scopes.ts';
import { type OfferedSkill, type Skills, usable } from '../../gateway/skills.ts';

export interface CardOptions {
  readonly skills: Skills;
  /** Public base URL, without a trailing slash. */
  readonly baseUrl: string;
}

const MODES = ['application/json', 'text/plain'];
const VERSIONS = ['1.0', '0.3'];
/** URI of the agent card extension with the argument schemas of skills. It changes no message. */
const SCHEMAS = 'urn:installation-gateway:a2a:skill-input-schemas:v1';

export function agentCard({ skills, baseUrl }: CardOptions): object {
  const token = `${baseUrl}/oauth/token`;
  const scopes = scopesOf(skills);
  const oauth2MetadataUrl = `${baseUrl}/.well-known/oauth-authorization-server`;
  const oauth = (description: string, flow: OAuthFlows['flow']): SecurityScheme => ({
    scheme: { $case: 'oauth2SecurityScheme', value: { description, oauth2MetadataUrl, flows: { flow } } },
  });
  // Convert the card here: the SDK's own handler sends an internal form that even the SDK's client cannot read.
  const card = AgentCard.toJSON({
    name: 'Installation Gateway',
    description:
      'Reads stored customer-support data for an installed application: reports, conversations, configuration and ' +
      'contacts. The agent also detects the language of a text. A message has one data part (application/json) with the ' +
      'members skill and arguments, or the same as a text, and starts one task. Any other text makes a task that asks for ' +
      'a skill. The examples of the skills run as they stand on the demo data, and elsewhere with ids from your own answers. ' +
      'SendMessage waits at most 30 seconds for the end of the task. ' +
      'With configuration.returnImmediately, SendMessage answers at once. A task and its artifact are kept for 15 minutes.',
    version: '1.0.0', // the version of the A2A interface, equal to that of the OpenAPI document
    supportedInterfaces: VERSIONS.map((protocolVersion) => ({
      url: `${baseUrl}/a2a`,
      protocolBinding: 'JSONRPC',
      tenant: '',
      protocolVersion,
    })),
    provider: { organization: 'Installation Gateway', url: baseUrl },
    documentationUrl: `${baseUrl}/docs/guides/agent_tasks`,
    capabilities: {
      streaming: true,
      pushNotifications: false,
      extendedAgentCard: false,
      extensions: [
        {
          uri: SCHEMAS,
          description: 'JSON Schema (draft 2020-12) of the arguments of each skill.',
          required: false,
          params: Object.fromEntries(skills.all.map(({ skill }) => [skill.name, jsonSchema(skill.input, 'input')])),
        },
      ],
    },
    securitySchemes: {
      bearer: {
        scheme: {
          $case: 'httpAuthSecurityScheme',
          value: {
            scheme: 'Bearer',
            bearerFormat: 'opaque',
            description: 'An installation token, or an OAuth token for the A2A URL.',
          },
        },
      },
      oauth2_client_credentials: oauth(
        'OAuth client credentials, for servers. The parameter resource is the A2A URL.',
        { $case: 'clientCredentials', value: { tokenUrl: token, refreshUrl: '', scopes } },
      ),
      oauth2_authorization_code: oauth(
        'OAuth authorization code, with the consent of an owner or admin. The parameter resource is the A2A URL.',
        {
          $case: 'authorizationCode',
          value: {
            authorizationUrl: `${baseUrl}/oauth/authorize`,
            tokenUrl: token,
            refreshUrl: token,
            scopes,
            pkceRequired: true,
          },
        },
      ),
    },
    securityRequirements: least(skills.all.flatMap(waysOf)).flatMap(requirements),
    defaultInputModes: [...MODES],
    defaultOutputModes: [...MODES],
    skills: skills.all.map((offered) => ({
      id: offered.skill.name,
      name: offered.skill.title,
      description: `${offered.skill.description} ${needing(offered)}`,
      tags: [...offered.skill.tags],
      examples: offered.skill.examples.map((one) => JSON.stringify({ skill: offered.skill.name, arguments: one })),
      inputModes: [...MODES],
      outputModes: [...MODES],
      securityRequirements: least(waysOf(offered)).flatMap(requirements),
    })),
    signatures: [],
  });
  // The SDK types its result as `unknown`, but the result is a plain object.
  return card as object;
}

/** The sets of scopes of which a token needs one to use the skill. */
const waysOf = ({ required, alternatives }: OfferedSkill): (readonly Scope[])[] =>
  alternatives.length === 0 ? [required.scopes] : alternatives.map((one) => both(required, one).scopes);

/** What a reader of version 0.3 looks for in place of `supportedInterfaces`. */
export const forReadersOf03 = (baseUrl: string): object => ({
  url: `${baseUrl}/a2a`,
  preferredTransport: 'JSONRPC',
  protocolVersion: '0.3.0',
});

/** Leaves out each set that repeats or contains another one. */
const least = (ways: readonly (readonly Scope[])[]): (readonly Scope[])[] =>
  ways.filter((way, i) =>
    ways.every(
      (other, j) => i === j || !other.every((scope) => way.includes(scope)) || (other.length === way.length && i < j),
    ),
  );

/**
 * The ways to authenticate with these scopes. A client needs only one. A bearer has its scopes too, and without them the
 * signed text would have an empty member.
 */
const requirements = (scopes: readonly Scope[]): SecurityRequirement[] =>
  ['bearer', 'oauth2_client_credentials', 'oauth2_authorization_code'].map((scheme) => ({
    schemes: { [scheme]: { list: [...scopes] } },
  }));

const needing = ({ required, unrestricted, alternatives }: OfferedSkill): string => {
  const texts = alternatives.map((one) => `for ${conditionName(one)} ${grantsText(both(required, one))}`);
  const needs = texts.length === 0 ? grantsText(required) : `one of: ${texts.join('; ')}`;
  return `Needs ${needs}.${unrestricted ? ' Needs an unrestricted credential.' : ''}`;
};

function scopesOf({ all }: Skills): Record<string, string> {
  const users = (scope: Scope, needed: boolean): string[] =>
    all.flatMap((one) => {
      const needs = waysOf(one).some((way) => way.includes(scope));
      return needs === needed && usable(one).includes(scope) ? [one.skill.name] : [];
    });
  const told = (scope: Scope): string =>
    [['Needed by', users(scope, true)] as const, ['Shows more in', users(scope, false)] as const]
      .flatMap(([text, names]) => (names.length === 0 ? [] : [`${text} ${names.join(', ')}.`]))
      .join(' ');
  return Object.fromEntries(SCOPES.flatMap((scope) => (told(scope) === '' ? [] : [[scope, told(scope)]])));
}
