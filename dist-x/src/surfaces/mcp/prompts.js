import { expectedAt } from '../../core/accepted-values.js';
import { Failure } from '../../core/failures.js';
import { parseId } from '../../core/ids.js';
import { selects } from '../../core/toolsets.js';
import { inputErrors, refusalOf } from '../../gateway/input-errors.js';
import { mayCall } from '../../gateway/registry.js';
import { invalidParams, unlisted, unusable } from './refusals.js';
/**
 * A credential sees a prompt only if it can call every operation that the prompt names. An address that lists a part of
 * the tools lists a prompt only if all these operations are in it.
 */
export function mcpPrompts(prompts, registry) {
    const usable = (prompt, authority) => prompt.tools.every((name) => {
        const tool = registry.get(name);
        return tool !== undefined && mayCall(tool, authority);
    });
    const selected = (prompt, { selection }) => prompt.tools.every((name) => {
        const tool = registry.get(name);
        return tool !== undefined && selects(selection, tool);
    });
    return {
        async list(mcpRequest) {
            const authority = await mcpRequest.admit();
            return {
                prompts: prompts
                    .filter((prompt) => usable(prompt, authority) && selected(prompt, mcpRequest))
                    .map(({ name, title, description, arguments: list }) => ({ name, title, description, arguments: [...list] })),
            };
        },
        async get(mcpRequest, name, received) {
            const authority = await mcpRequest.admit();
            const prompt = prompts.find((one) => one.name === name);
            if (!prompt || !usable(prompt, authority)) {
                // For the log only. The caller gets the same answer for an unknown and for a forbidden prompt.
                if (prompt)
                    mcpRequest.failed = new Failure('not_permitted');
                throw unusable('prompt');
            }
            if (!selected(prompt, mcpRequest))
                throw unlisted('prompt');
            const values = filledOf(prompt, received);
            const parsed = prompt.input.safeParse(values);
            if (!parsed.success)
                throw invalidParams(refusalOf(inputErrors(prompt, parsed.error, values)));
            const lacking = prompt.lacking(parsed.data);
            if (lacking.length > 0) {
                const missing = (parameter) => ({
                    parameter,
                    code: 'missing',
                    expected: expectedAt(prompt.input, [parameter]),
                });
                throw invalidParams(refusalOf(lacking.map(missing)));
            }
            for (const [argument, value] of Object.entries(values)) {
                if (argument !== 'website_id' && !argument.endsWith('_id'))
                    continue;
                const website = argument === 'website_id' ? String(value) : (parseId(String(value))?.website ?? '');
                if (authority.websites.has(website))
                    continue;
                mcpRequest.failed = new Failure('not_found', { outside: true });
                throw invalidParams(mcpRequest.failed);
            }
            return {
                description: prompt.description,
                messages: [{ role: 'user', content: { type: 'text', text: prompt.render(parsed.data) } }],
            };
        },
    };
}
/** Clients show a form for the arguments of a prompt, and send what a person left empty as null or as an empty text. */
function filledOf(prompt, values) {
    const optional = new Set(prompt.arguments.flatMap(({ name, required }) => (required ? [] : [name])));
    const isEmpty = (name, value) => optional.has(name) && (value === null || value === '');
    return Object.fromEntries(Object.entries(values).filter(([name, value]) => !isEmpty(name, value)));
}
//# sourceMappingURL=prompts.js.map