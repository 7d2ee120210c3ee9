export const VALUES: Readonly<Record<string, unknown>> = {};
