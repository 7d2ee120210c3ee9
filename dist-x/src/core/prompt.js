import { z } from 'zod';
export function definePrompt(declaration) {
    const { name, title, description, tools, render } = declaration;
    const shape = Object.entries(declaration.arguments);
    return {
        name,
        title,
        description,
        tools,
        arguments: shape.map(([argument, schema]) => ({
            name: argument,
            description: schema.description ?? '',
            required: !schema.safeParse(undefined).success,
        })),
        input: z.strictObject({ ...declaration.arguments }),
        // The casts are sound, because `lacking` and `render` receive only values that `input` has accepted.
        lacking: (declaration.lacking ?? (() => [])),
        render: render,
    };
}
//# sourceMappingURL=prompt.js.map