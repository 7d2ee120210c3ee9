import { AgentCard, type SecurityRequirement } from '@a2a-js/sdk';
import { jsonSchema } from '../../core/json-schema.ts';
import { SCOPES, type Scope } from '../../core/scopes.ts';
import type { OfferedSkill, Skills } from '../../gateway/skills.ts';

export interface CardOptions {
  readonly skills: Skills;
  /** Public base URL, without a trailing slash. */
  readonly baseUrl: string;
}

const JSON_TYPE = 'application/json';
const VERSIONS = ['1.0', '0.3'];
/** URI of the agent card extension with the argument schemas of skills. It changes no message. */
const SCHEMAS = 'urn:installation-gateway:a2a:skill-input-schemas:v1';

export function agentCard({ skills, baseUrl }: CardOptions): object {
  const token = `${baseUrl}/oauth/token`;
  const scopes = scopesOf(skills);
  // Convert the card here: the SDK's own handler sends an internal form that even the SDK's client cannot read.
  const card = AgentCard.toJSON({
    name: 'Installation Gateway',
    description:
      'Reads stored customer-support data for an installed application: reports, conversations, configuration and ' +
      'contacts. The agent also detects the language of a text. A message has one data part (application/json) with the ' +
      'members skill and arguments, and starts one task. SendMessage waits at most 30 seconds for the end of the task. ' +
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
      oauth2_client_credentials: {
        scheme: {
          $case: 'oauth2SecurityScheme',
          value: {
            description: 'OAuth client credentials, for servers. The parameter resource is the A2A URL.',
            oauth2MetadataUrl: `${baseUrl}/.well-known/oauth-authorization-server`,
            flows: { flow: { $case: 'clientCredentials', value: { tokenUrl: token, refreshUrl: '', scopes } } },
          },
        },
      },
      oauth2_authorization_code: {
        scheme: {
          $case: 'oauth2SecurityScheme',
          value: {
            description:
              'OAuth authorization code, with the consent of an owner or admin. The parameter resource is the A2A URL.',
            oauth2MetadataUrl: `${baseUrl}/.well-known/oauth-authorization-server`,
            flows: {
              flow: {
                $case: 'authorizationCode',
                value: {
                  authorizationUrl: `${baseUrl}/oauth/authorize`,
                  tokenUrl: token,
                  refreshUrl: token,
                  scopes,
                  pkceRequired: true,
                },
              },
            },
          },
        },
      },
    },
    securityRequirements: requirements([]),
    defaultInputModes: [JSON_TYPE],
    defaultOutputModes: [JSON_TYPE],
    skills: skills.all.map(({ skill, required, unrestricted }) => ({
      id: skill.name,
      name: skill.title,
      description: `${skill.description} ${needing({ required, unrestricted })}`,
      tags: [...skill.tags],
      examples: skill.examples.map((one) => JSON.stringify({ skill: skill.name, arguments: one })),
      inputModes: [JSON_TYPE],
      outputModes: [JSON_TYPE],
      securityRequirements: requirements(required.scopes),
    })),
    signatures: [],
  });
  // The SDK types its result as `unknown`, but the result is a plain object.
  return { ...(card as object), ...forReadersOf03(baseUrl) };
}

/** What a reader of version 0.3 looks for in place of `supportedInterfaces`. */
const forReadersOf03 = (baseUrl: string): object => ({
  url: `${baseUrl}/a2a`,
  preferredTransport: 'JSONRPC',
  protocolVersion: '0.3.0',
});

/** The ways to authenticate. A client needs only one. Only the two OAuth ways have scopes. */
const requirements = (scopes: readonly Scope[]): SecurityRequirement[] => [
  { schemes: { bearer: { list: [] } } },
  { schemes: { oauth2_client_credentials: { list: [...scopes] } } },
  { schemes: { oauth2_authorization_code: { list: [...scopes] } } },
];

const needing = ({ required, unrestricted }: Pick<OfferedSkill, 'required' | 'unrestricted'>): string => {
  const flags = required.dataAccess.length === 0 ? '' : ` Needs the data access ${required.dataAccess.join(', ')}.`;
  return `Needs the scopes ${required.scopes.join(', ')}.${flags}${unrestricted ? ' Needs an unrestricted credential.' : ''}`;
};

function scopesOf({ all }: Skills): Record<string, string> {
  const named = SCOPES.map((scope) => {
    const users = all.flatMap(({ skill, required }) => (required.scopes.includes(scope) ? [skill.name] : []));
    return [scope, users] as const;
  });
  return Object.fromEntries(
    named.flatMap(([scope, users]) => (users.length === 0 ? [] : [[scope, `Needed by ${users.join(', ')}.`]])),
  );
}
