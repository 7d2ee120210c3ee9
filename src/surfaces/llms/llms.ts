import { readFileSync } from 'node:fs';
import { packageRoot } from '../../config/package.ts';
import type { GuideName } from '../../core/guides.ts';
import type { Declarations } from '../../gateway/load.ts';
import type { Llms } from '../http/app.ts';
import { operationsText } from './operations.ts';
import { recordsOf } from './records.ts';
import { errorsText, promptsText, resourcesText, scopesText, skillsText } from './tables.ts';

export interface LlmsOptions extends Omit<Declarations, 'skillFiles'> {
  readonly guides: ReadonlyMap<GuideName, string>;
  readonly baseUrl: string;
}

/** Guides that few agents need. llmstxt.org calls their heading "Optional". */
const OPTIONAL: ReadonlySet<GuideName> = new Set(['agent_tasks', 'event_recovery']);

export function llms({ registry, guides, baseUrl, resources, prompts, skills }: LlmsOptions): Llms {
  const preamble = readFileSync(new URL('llms/preamble.md', packageRoot), 'utf8').replace(/<!--.*?-->\n*/gs, '');
  const { nameOf, text: records } = recordsOf(registry);
  const parts: Readonly<Record<string, () => string>> = {
    scopes: () => scopesText(registry),
    errors: errorsText,
    records: () => records,
    resources: () => resourcesText(resources, registry),
    prompts: () => promptsText(prompts, registry),
    skills: () => skillsText(skills, nameOf),
    operations: () => operationsText(registry, nameOf),
    guides: () =>
      [...guides.values()].map((guide) => demoted(guide, 2).replaceAll('](/', () => `](${baseUrl}/`)).join('\n\n'),
  };
  const full = addressed(preamble, baseUrl).replace(/^\{\{(\w+)\}\}$/gm, (_, name: string) => {
    const part = parts[name];
    if (!part) throw new Error(`llms/preamble.md asks for an unknown part: ${name}`);
    return part();
  });
  const opening = addressed(preamble, baseUrl).split(/^## /m, 1)[0] ?? '';
  return { index: `${opening.trim()}\n\n${links({ registry, guides, baseUrl }, full)}\n`, full: `${full.trim()}\n` };
}

const addressed = (text: string, baseUrl: string): string => text.replaceAll('{base_url}', () => baseUrl);

function links(
  { registry, guides, baseUrl }: Pick<LlmsOptions, 'registry' | 'guides' | 'baseUrl'>,
  full: string,
): string {
  const link = (name: string, path: string, notes: string): string => `- [${name}](${baseUrl}${path}): ${notes}`;
  const guide = ([name, text]: [GuideName, string]): string =>
    link(titleOf(text), `/docs/guides/${name}`, aboutOf(text));
  const all = [...guides];
  const kib = Math.ceil(Buffer.byteLength(full) / 1024);
  const operations = `all ${registry.operations.length} operations with parameters, answers and examples`;
  return [
    '## Documents',
    '',
    link('Everything in one text', '/llms-full.txt', `rules, errors, ${operations}, and the guides (${kib} KiB).`),
    link('OpenAPI document', '/api/v1/openapi.json', 'OpenAPI 3.1 of the REST operations, with all schemas.'),
    '',
    '## Endpoints',
    '',
    link('MCP', '/mcp', 'Streamable HTTP, POST only, with the bearer token. The tools are the operations.'),
    link(
      'REST',
      '/api/v1/context',
      'GET with the bearer token. Call this first. The answer shows what the credential may do.',
    ),
    '',
    '## Guides',
    '',
    ...all.filter(([name]) => !OPTIONAL.has(name)).map(guide),
    '',
    '## Optional',
    '',
    link('Developer pages', '/docs', 'how to start. All pages under /docs are HTML for people.'),
    link('Clients', '/docs/clients', 'what a person clicks in Claude, ChatGPT, Codex, VS Code and Cursor.'),
    link('Reference', '/docs/reference', 'all operations.'),
    link('Errors', '/docs/errors', 'all failure codes.'),
    link('Changelog', '/changelog.json', 'what has changed, as a JSON Feed.'),
    ...all.filter(([name]) => OPTIONAL.has(name)).map(guide),
  ].join('\n');
}

const titleOf = (guide: string): string => /^# (.+)$/m.exec(guide)?.[1] ?? '';

function aboutOf(guide: string): string {
  const paragraph = guide.split(/\n{2,}/).find((block) => !/^[#>]/.test(block)) ?? '';
  return /^.*?\.(?=\s|$)/s.exec(paragraph)?.[0].replaceAll('\n', ' ') ?? paragraph;
}

function demoted(text: string, levels: number): string {
  let fenced = false;
  return text
    .trim()
    .split('\n')
    .map((line) => {
      if (line.trimStart().startsWith('```')) fenced = !fenced;
      return !fenced && /^#+ /.test(line) ? '#'.repeat(levels) + line : line;
    })
    .join('\n');
}
