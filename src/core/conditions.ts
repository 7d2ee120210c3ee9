import type { Requirement } from './scopes.ts';

/**
 * An extra requirement for calls that send the parameter `given`. If `is` is set, the requirement holds only for this
 * value of the parameter. If `has` is set, the requirement holds only for comma-separated lists with this entry.
 */
export interface Condition extends Requirement {
  readonly given: string;
  readonly is?: boolean;
  readonly has?: string;
}

/** Names the calls that a condition is about, such as `include_internal=true`. */
export const conditionName = ({ given, is, has }: Condition): string =>
  is === undefined && has === undefined ? given : `${given}=${has ?? is}`;

/** Tells whether a condition is about a call that sends `value` for the parameter. */
export function conditionApplies({ is, has }: Condition, value: unknown): boolean {
  if (has !== undefined) return typeof value === 'string' && value.split(',').includes(has);
  return is === undefined ? value !== undefined : value === is;
}
