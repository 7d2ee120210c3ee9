import type { Requirement } from './scopes.ts';

/**
 * An extra requirement for calls that send the parameter `given`. If `is` is set, the requirement holds only for this
 * value of the parameter. If `has` is set, the requirement holds only for comma-separated lists with this entry. If
 * `prefix` is set, the requirement holds only for ids with this prefix.
 *
 * The conditions with `prefix` or `leftOut` are alternatives. A caller can use the operation if one of them is met.
 */
export interface Condition extends Requirement {
  readonly given: string;
  readonly is?: boolean;
  readonly has?: string;
  readonly prefix?: string;
  /** True if the call also needs a credential without restrictions. */
  readonly unrestricted?: true;
  /**
   * True if the answer leaves out the entry `has` of the list when the requirement is not met. A call without the
   * parameter asks for all entries. A call is refused when no entry is left.
   */
  readonly leftOut?: true;
}

export const isAlternative = ({ prefix, leftOut }: Condition): boolean => prefix !== undefined || leftOut === true;

/** Names the calls that a condition is about, such as `include_internal=true`. */
export function conditionName({ given, is, has, prefix }: Condition): string {
  if (prefix !== undefined) return `${given}=${prefix}_…`;
  return is === undefined && has === undefined ? given : `${given}=${has ?? is}`;
}

/** Tells whether a condition is about a call that sends `value` for the parameter. */
export function conditionApplies({ is, has, prefix, leftOut }: Condition, value: unknown): boolean {
  if (leftOut && value === undefined) return true;
  if (prefix !== undefined) return typeof value === 'string' && value.startsWith(`${prefix}_`);
  if (has !== undefined) return typeof value === 'string' && value.split(',').includes(has);
  return is === undefined ? value !== undefined : value === is;
}
