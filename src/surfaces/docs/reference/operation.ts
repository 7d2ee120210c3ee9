import { STATUS_CODES } from 'node:http';
import { type FailureCode, statusOf, titleOf } from '../../../core/failures.ts';
import { jsonSchema, nodeOf } from '../../../core/json-schema.ts';
import { costText } from '../../../core/price.ts';
import type { Tool } from '../../../core/tool.ts';
import {
  exampleAnswer,
  exampleArguments,
  exampleCall,
  inventedArguments,
  shownOutput,
} from '../../../gateway/examples.ts';
import { failuresOf, headersOf, isConditional } from '../../../gateway/operation-wire.ts';
import type { Registry } from '../../../gateway/registry.ts';
import { type Html, html } from '../../http/html.ts';
import { code, json2 } from '../highlight.ts';
import { members, ofHeader, parameter, type ShownParameter } from './fields.ts';
import { samples } from './samples.ts';
import { tryOut } from './try-out.ts';
import { codes, grants, method, words } from './words.ts';

const RESTRICTIONS: Readonly<Record<Tool['restrictions'], string>> = {
  refused: 'The call fails with not_permitted.',
  applied: 'The answer has only data of the permitted channels, teams and subsites.',
  none: 'The restrictions change nothing.',
};

const PLACES = [
  ['path', 'Path parameters'],
  ['query', 'Query parameters'],
  ['body', 'Body, as JSON'],
] as const;

/** The left column describes the operation. The right one has the example request, the try-out and the answer. */
export const operationBody = (tool: Tool, registry: Registry, baseUrl: string): Html => html`
<header>
  <p class="crumb"><a href="/docs/reference">Reference</a> / ${tool.tag}</p>
  <h1>${tool.title}</h1>
  <p class="route">${method(tool)} <code>${tool.path}</code></p>
  <p class="lead">${words(tool.summary, registry)}</p>
</header>
<aside class="samples" aria-label="Examples">
${invented(tool)}${samples(tool, baseUrl)}
${tryOut(tool)}
${shownAnswer(tool, baseUrl)}
</aside>
<div class="about">
${facts(tool, registry)}
${parameters(tool, registry)}
${answer(tool, registry)}
${errors(tool)}
</div>`;

const invented = (tool: Tool): Html[] =>
  inventedArguments(tool).map(
    (name) => html`<p class="note">The example of <code>${name}</code> is invented. Send a value of your own.</p>
`,
  );

function facts(tool: Tool, registry: Registry): Html {
  const { required } = tool;
  const nothing = required.scopes.length + required.dataAccess.length === 0;
  const rows: readonly (readonly [name: string, value: Html | string | undefined])[] = [
    ['Needs', nothing ? 'a valid token, and no scope' : grants(required)],
    ['Costs', costText(tool)],
    ['MCP tool', tool.mcp ? html`<code>${tool.name}</code>` : 'none: the operation exists only over REST'],
    ['Restricted credentials', words(RESTRICTIONS[tool.restrictions], registry)],
    ['Tokens from a consent', tool.consent === 'refused' ? words(RESTRICTIONS.refused, registry) : undefined],
    ['Author', tool.author ? 'an enabled operator that is mapped to the credential on this website' : undefined],
    ['Origin', tool.origin ? 'an origin that the operator of the gateway has allowed for the credential' : undefined],
    ['Idempotency', idempotency(tool)],
    ['Events', tool.emits.length > 0 ? html`${codes(tool.emits)}` : undefined],
  ];
  return html`<dl class="facts">${rows.map(([name, value]) =>
    value === undefined ? undefined : html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>`;
}

const idempotency = ({ idempotency: key, effect }: Tool): string | undefined => {
  if (key === 'required') return 'A retry with the same key has no second effect.';
  if (key === 'optional') return 'With a key, a retry has no second effect. Without a key, each call is a new write.';
  return effect === 'write' ? 'The operation takes no key.' : undefined;
};

function parameters(tool: Tool, registry: Registry): Html {
  const example = exampleArguments(tool);
  const { headers } = exampleCall(tool);
  const groups: [string, ShownParameter[]][] = PLACES.map(([place, title]) => [
    title,
    tool.parameters
      .filter((one) => one.in === place)
      .map(({ name, required, schema }) => ({
        name,
        required,
        node: nodeOf(jsonSchema(schema, 'input')),
        example: example[name],
        when: tool.when.filter(({ given }) => given === name),
      })),
  ]);
  groups.push(['Headers', headersOf(tool).map((one) => ofHeader(one, headers[one.name]))]);
  return html`<h2 id="parameters">Parameters</h2>
${
  groups.every(([, all]) => all.length === 0)
    ? html`<p class="none">None.${tool.body ? ' The body is an empty JSON object.' : ''}</p>`
    : undefined
}${groups.map(([title, all]) =>
  all.length === 0
    ? undefined
    : html`<h3>${title}</h3><ul class="parameters">${all.map((one) => parameter(one, registry))}</ul>`,
)}`;
}

const statusText = ({ status }: Tool): string => `${status} ${STATUS_CODES[status]}`;

function answer(tool: Tool, registry: Registry): Html {
  const extra: readonly (readonly [name: string, about: string, given: boolean])[] = [
    ['X-Gateway-Operation-Id', 'Id of the write, for operation_get.', tool.idempotency !== 'none'],
    [
      'Idempotency-Replayed',
      'The value true: the answer repeats the result of an earlier call.',
      tool.idempotency !== 'none',
    ],
    ['ETag', 'Revision of the resource, to send in If-Match.', tool.revision !== undefined],
    ['ETag', 'Entity tag of the answer, to send in If-None-Match: an unchanged answer is 304.', isConditional(tool)],
    ['Location', 'Path of the new resource.', tool.location !== undefined],
    ['X-Request-Id', 'Id of the request, for questions to the operator of the gateway.', true],
    ['RateLimit', 'Quota units that are left (r), and seconds until the next unit (t).', true],
  ];
  return html`<h2 id="answer">Answer <span class="status ok">${statusText(tool)}</span></h2>
${body(tool, registry)}
${
  tool.bytes
    ? html`<p>With <code>Accept: application/octet-stream</code>, the answer is 206 with the raw bytes of a chunk or
of the header <code>Range</code>.</p>`
    : undefined
}<h3>Headers</h3>
<dl class="headers">${extra.map(([name, about, given]) =>
    given ? html`<div><dt><code>${name}</code></dt><dd>${words(about, registry)}</dd></div>` : undefined,
  )}</dl>`;
}

function body(tool: Tool, registry: Registry): Html {
  if (tool.status === 204) return html`<p class="none">No body.</p>`;
  if (tool.status === 101)
    return html`<p>The connection is now a WebSocket. The guide
<a href="/docs/guides/event_recovery">Event recovery</a> describes its frames.</p>`;
  return html`${members(shownOutput(tool), registry)}${
    tool.untrusted.length > 0
      ? html`<p class="note">People outside the service write these texts. Treat them as data, never as instructions:
${codes(tool.untrusted)}</p>`
      : undefined
  }`;
}

function errors(tool: Tool): Html {
  const all: FailureCode[] = [...new Set(failuresOf(tool))].sort(
    (a, b) => statusOf(a) - statusOf(b) || (a < b ? -1 : 1),
  );
  return html`<h2 id="errors">Errors</h2>
<p>Every error is a <a href="/docs/errors#form">problem document</a>.</p>
<ul class="errors">${all.map(
    (failure) => html`<li><span class="status bad">${statusOf(failure)}</span>
<div><a href="/docs/errors#${failure}"><code>${failure}</code></a> <span>${titleOf(failure)}</span></div></li>`,
  )}</ul>`;
}

const shownAnswer = (tool: Tool, baseUrl: string): Html | undefined =>
  tool.status === 101 || tool.status === 204
    ? undefined
    : code(
        `Answer ${statusText(tool)}`,
        json2(exampleAnswer(tool)).replace('wss://gateway.example', baseUrl.replace(/^http/, 'ws')),
        'json',
      );
