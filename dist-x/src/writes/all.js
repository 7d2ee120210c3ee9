import { RunDetection } from './ai-feature-execute.js';
import { PlanChange } from './config-plan.js';
import { AssignConversation } from './conversation-assign.js';
import { SetDisposition } from './conversation-disposition-set.js';
import { AddReply } from './conversation-reply.js';
import { SetStatus } from './conversation-status-set.js';
import { AddNote } from './visitor-note-add.js';
/** The writes that exist only for credentials whose policy names them. */
export const WRITES_BY_POLICY = [AddReply, SetStatus, AssignConversation];
/** All writes to records. The schema of operation_get lists the names of the writes in this order. */
export const WRITES = [AddNote, SetDisposition, RunDetection, PlanChange];
//# sourceMappingURL=all.js.map