import type { Requirement } from './scopes.ts';

/**
 * An extra requirement for calls that send the parameter `given`. `is` limits the condition to one value, `has` to
 * comma-separated lists with this entry, and `prefix` to ids with this prefix.
 *
 * Conditions with `prefix` or `leftOut` are alternatives: a caller who meets one of them can use the operation.
 */
export interface Condition extends Requirement {
  readonly given: string;
  readonly is?: boolean;
  readonly has?: string;
  readonly prefix?: string;
  /** True if the call also needs a credential without restrictions. */
  readonly unrestricted?: true;
  /**
   * A caller without the grants gets an answer without the entry `has`. A call without the parameter asks for all
   * entries. A call is refused if no entry is left.
   */
  readonly leftOut?: true;
}

export const isAlternative = ({ prefix, leftOut }: Condition): boolean => prefix !== undefined || leftOut === true;

/** Names the calls of a condition, such as `include_internal=true`. */
export function conditionName({ given, is, has, prefix }: Condition): string {
  if (prefix !== undefined) return `${given}=${prefix}_…`;
  return is === undefined && has === undefined ? given : `${given}=${has ?? is}`;
}

export function conditionApplies({ is, has, prefix, leftOut }: Condition, value: unknown): boolean {
  if (leftOut && value === undefined) return true;
  if (prefix !== undefined) return typeof value === 'string' && value.startsWith(`${prefix}_`);
  if (has !== undefined) return typeof value === 'string' && value.split(',').includes(has);
  return is === undefined ? value !== undefined : value === is;
}
