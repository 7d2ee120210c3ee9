import type { Authority } from '../../core/authority.ts';
import { Failure } from '../../core/failures.ts';
import { parseId } from '../../core/ids.ts';
import type { Prompt } from '../../core/prompt.ts';
import { inputErrors } from '../../gateway/input-errors.ts';
import { mayCall, type Registry } from '../../gateway/registry.ts';
import type { Exchange } from './exchange.ts';
import { invalidParams, unusable } from './refusals.ts';

/** Prompts, listed for credentials that can call every operation that the prompt asks for. */
export function mcpPrompts(prompts: readonly Prompt[], registry: Registry) {
  const usable = (prompt: Prompt, authority: Authority): boolean =>
    prompt.tools.every((name) => {
      const tool = registry.get(name);
      return tool !== undefined && mayCall(tool, authority);
    });
  return {
    async list(exchange: Exchange) {
      const authority = await exchange.admit();
      return {
        prompts: prompts
          .filter((prompt) => usable(prompt, authority))
          .map(({ name, title, description, arguments: list }) => ({ name, title, description, arguments: [...list] })),
      };
    },

    async get(exchange: Exchange, name: string, values: Readonly<Record<string, string>>) {
      const authority = await exchange.admit();
      const prompt = prompts.find((one) => one.name === name && usable(one, authority));
      if (!prompt) throw unusable('prompt');
      const parsed = prompt.input.safeParse(values);
      if (!parsed.success) {
        throw invalidParams(new Failure('invalid_parameter', { errors: inputErrors(undefined, parsed.error, values) }));
      }
      for (const value of Object.values(values)) {
        const website = websiteOf(value);
        if (website !== undefined && !authority.websites.has(website)) throw invalidParams(new Failure('not_found'));
      }
      return {
        description: prompt.description,
        messages: [{ role: 'user' as const, content: { type: 'text' as const, text: prompt.render(parsed.data) } }],
      };
    },
  };
}

/** The website that an argument names, by itself or as the owner of a record. */
function websiteOf(value: string): string | undefined {
  if (/^web_\d+_\d+$/.test(value)) return value;
  return /^[a-z]{3}_\d+_\d+_\d+$/.test(value) ? (parseId(value)?.website ?? '') : undefined;
}
