import type { Write } from '../core/writes.ts';
import { RunDetection } from './ai-feature-execute.ts';
import { PlanChange } from './config-plan.ts';
import { SetDisposition } from './conversation-disposition-set.ts';
import { AddNote } from './visitor-note-add.ts';

/** All writes to records. The schema of operation_get lists the names of the writes in this order. */
export const WRITES: readonly Write[] = [AddNote, SetDisposition, RunDetection, PlanChange];
