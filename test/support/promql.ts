import { parse } from 'yaml';
import { z } from 'zod';
import { fileOf } from './deploy.ts';

/** Names of metrics, each with the labels of its series. */
export type Metrics = ReadonlyMap<string, ReadonlySet<string>>;

const Rules = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string(),
          expr: z.string(),
          for: z.string().optional(),
          labels: z.strictObject({ severity: z.enum(['page', 'warn']) }),
          annotations: z.strictObject({ summary: z.string(), description: z.string() }),
        }),
      ),
    }),
  ),
});
export type AlertRule = z.infer<typeof Rules>['groups'][number]['rules'][number];

export const rulesOf = (path: string): AlertRule[] =>
  Rules.parse(parse(fileOf(path))).groups.flatMap((group) => group.rules);

/** Names of metrics in an expression of PromQL, each with the labels that its selector names. */
export function metricsOf(expression: string): { name: string; labels: string[] }[] {
  return [...expression.matchAll(/\b((?:gateway|process|nodejs|cnpg|barman|kubelet)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', selector = '']) => ({
      name,
      labels: [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label),
    }),
  );
}

export const groupings = (expression: string): string[] =>
  [...expression.matchAll(/\b(?:by|without) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, */));

/** Metrics and labels in the expression that are not in `known`. `target`: labels that every series has. */
export function unknownIn(expression: string, known: Metrics, target: readonly string[]): string[] {
  const used = metricsOf(expression);
  const all = new Set([...target, ...used.flatMap(({ name }) => [...(known.get(name) ?? [])])]);
  return [
    ...used.filter(({ name }) => !known.has(name)).map(({ name }) => name),
    ...used.flatMap(({ name, labels }) =>
      labels.filter((label) => !target.includes(label) && !known.get(name)?.has(label)).map((l) => `${name}{${l}}`),
    ),
    ...groupings(expression).filter((label) => !all.has(label)),
  ];
}

/** Labels that the texts of a rule show and that its expression does not leave. */
export function missingIn({ expr, annotations }: AlertRule, target: readonly string[]): string[] {
  const texts = Object.values(annotations).join(' ');
  const left = /\b(?:max|min|sum) by \(([^)]*)\)/.exec(expr)?.[1]?.split(', ') ?? target;
  return [...texts.matchAll(/\$labels\.(\w+)/g)].flatMap(([, label = '']) => (left.includes(label) ? [] : label));
}
