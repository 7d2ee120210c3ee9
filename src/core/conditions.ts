import type { Requirement } from './scopes.ts';

/**
 * An extra requirement for calls that send the parameter `given`. If `is` is set, the requirement holds only for this
 * value of the parameter. If `prefix` is set, the requirement holds only for ids with this prefix.
 */
export interface Condition extends Requirement {
  readonly given: string;
  readonly is?: boolean;
  readonly prefix?: string;
  /** True if the call also needs a credential without restrictions. */
  readonly unrestricted?: true;
}

/** Names the calls that a condition is about, such as `include_internal=true`. */
export const conditionName = ({ given, is, prefix }: Condition): string =>
  prefix !== undefined ? `${given}=${prefix}_…` : is === undefined ? given : `${given}=${is}`;

/** Tells whether a condition is about a call that sends `value` for the parameter. */
export function conditionApplies({ is, prefix }: Condition, value: unknown): boolean {
  if (prefix !== undefined) return typeof value === 'string' && value.startsWith(`${prefix}_`);
  return is === undefined ? value !== undefined : value === is;
}
