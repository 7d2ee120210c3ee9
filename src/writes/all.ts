import type { Write } from '../core/writes.ts';
import { RunDetection } from './ai-feature-execute.ts';
import { PlanChange } from './config-plan.ts';
import { AssignConversation } from './conversation-assign.ts';
import { SetDisposition } from './conversation-disposition-set.ts';
import { AddReply } from './conversation-reply.ts';
import { SetStatus } from './conversation-status-set.ts';
import { AddNote } from './visitor-note-add.ts';

/** The writes that exist only for credentials whose policy names them. */
export const WRITES_BY_POLICY: readonly Write[] = [AddReply, SetStatus, AssignConversation];

/** All writes to records. The schema of operation_get lists the names of the writes in this order. */
export const WRITES: readonly Write[] = [AddNote, SetDisposition, RunDetection, PlanChange];
