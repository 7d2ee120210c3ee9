import type { Category } from './tck.ts';

/** Tests of the TCK that contradict A2A 1.0.1: the section, and its sentence. */
export const FAULTS: Readonly<Record<Category, Readonly<Record<string, string>>>> = {
  mandatory: {},
  capabilities: {},
};
