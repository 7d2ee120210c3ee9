import { expectedAt } from '../../core/accepted-values.ts';
import type { Authority } from '../../core/authority.ts';
import { Failure } from '../../core/failures.ts';
import { parseId } from '../../core/ids.ts';
import type { Prompt } from '../../core/prompt.ts';
import type { Tool } from '../../core/tool.ts';
import { selects } from '../../core/toolsets.ts';
import { inputErrors, refusalOf } from '../../gateway/input-errors.ts';
import { mayCall, type Registry } from '../../gateway/registry.ts';
import { invalidParams, unlisted, unusable } from './refusals.ts';
import type { McpRequest } from './request.ts';

/**
 * A credential sees a prompt only if it can call every operation that the prompt names. An address that lists a part of
 * the tools lists a prompt only if all these operations are in it.
 */
export function mcpPrompts(prompts: readonly Prompt[], registry: Registry) {
  const every = ({ tools }: Prompt, holds: (tool: Tool) => boolean): boolean =>
    tools.every((name) => {
      const tool = registry.get(name);
      return tool !== undefined && holds(tool);
    });
  const usable = (prompt: Prompt, authority: Authority): boolean => every(prompt, (tool) => mayCall(tool, authority));
  const selected = (prompt: Prompt, { selection }: McpRequest): boolean =>
    every(prompt, (tool) => selects(selection, tool));
  return {
    async list(mcpRequest: McpRequest) {
      const authority = await mcpRequest.admit();
      return {
        prompts: prompts
          .filter((prompt) => usable(prompt, authority) && selected(prompt, mcpRequest))
          .map(({ name, title, description, arguments: list }) => ({ name, title, description, arguments: [...list] })),
      };
    },

    async get(mcpRequest: McpRequest, name: string, received: Readonly<Record<string, unknown>>) {
      const authority = await mcpRequest.admit();
      const prompt = prompts.find((one) => one.name === name);
      if (!prompt || !usable(prompt, authority)) {
        // For the log only. The caller gets the same answer for an unknown and for a forbidden prompt.
        if (prompt) mcpRequest.failed = new Failure('not_permitted');
        throw unusable('prompt');
      }
      if (!selected(prompt, mcpRequest)) throw unlisted('prompt');
      const values = filledOf(prompt, received);
      const parsed = prompt.input.safeParse(values);
      if (!parsed.success) throw invalidParams(refusalOf(inputErrors(prompt, parsed.error, values)));
      const lacking = prompt.lacking(parsed.data);
      if (lacking.length > 0) {
        const missing = (parameter: string) => ({
          parameter,
          code: 'missing' as const,
          expected: expectedAt(prompt.input, [parameter]),
        });
        throw invalidParams(refusalOf(lacking.map(missing)));
      }
      for (const [argument, value] of Object.entries(values)) {
        if (argument !== 'website_id' && !argument.endsWith('_id')) continue;
        const website = argument === 'website_id' ? String(value) : (parseId(String(value))?.website ?? '');
        if (authority.websites.has(website)) continue;
        mcpRequest.failed = new Failure('not_found', { outside: true });
        throw invalidParams(mcpRequest.failed);
      }
      return {
        description: prompt.description,
        messages: [{ role: 'user' as const, content: { type: 'text' as const, text: prompt.render(parsed.data) } }],
      };
    },
  };
}

/** Clients show a form for the arguments of a prompt, and send what a person left empty as null or as an empty text. */
function filledOf(prompt: Prompt, values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const optional = new Set(prompt.arguments.flatMap(({ name, required }) => (required ? [] : [name])));
  const isEmpty = (name: string, value: unknown) => optional.has(name) && (value === null || value === '');
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => !isEmpty(name, value)));
}
