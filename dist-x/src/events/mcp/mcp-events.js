import { recording } from '../../store/audit/commands.js';
import { openChallenges } from './challenge.js';
import { poll } from './poll.js';
import { subscribe, unsubscribe, } from './subscribe.js';
export function openMcpEvents({ text, sender, ...options }) {
    const context = { ...options, allowed: sender.allowed, challenge: openChallenges(sender) };
    return {
        text,
        poll: (caller, request) => poll(context, caller, request),
        subscribe: (caller, request, draft) => subscribe(recordingIn(context, draft), caller, request),
        unsubscribe: (caller, request, draft) => unsubscribe(recordingIn(context, draft), caller, request),
    };
}
const recordingIn = (context, draft) => draft ? { ...context, db: recording(context.db, () => draft) } : context;
//# sourceMappingURL=mcp-events.js.map