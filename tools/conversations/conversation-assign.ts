import { z } from 'zod';
import { example } from '../../src/core/example.ts';
import { native, OperatorId, TeamId } from '../../src/core/ids.ts';
import { both, DIRECTORY, holds, PII } from '../../src/core/scopes.ts';
import { data, defineTool, ofWebsite } from '../../src/core/tool.ts';
import { changedConversation, ifUnchanged, misfit, ofConversation, websiteOfId } from '../../src/views/written.ts';
import { AssignConversation } from '../../src/writes/conversation-assign.ts';

/** No team has this number. So a team that the credential may not see is as one that does not exist. */
const NO_TEAM = '0';

export default defineTool({
  name: AssignConversation.name,
  title: 'Assign a conversation',
  summary: 'Give a conversation to one operator or to one team, or take it from its operator.',
  rest: 'POST /api/v1/conversations/{conversation_id}/assignment',
  effect: 'write',
  performs: AssignConversation,
  policy: 'required',
  tag: 'Conversations',
  scopes: ['conversation_read', 'conversation_update', 'directory_read'],
  restrictions: 'applied',
  author: 'required',
  idempotency: 'required',
  emits: ['conversation.changed'],
  errors: ['enrollment_unavailable', 'native_unavailable', 'operation_conflict'],
  input: {
    path: ofConversation,
    query: ofWebsite,
    body: {
      operator_id: example('opr_1_1_3', OperatorId.schema.optional().describe('An enabled operator. The team stays.')),
      team_id: TeamId.schema.optional().describe('An enabled team. The operator stays.'),
      none: z.literal(true).optional().describe('Takes the conversation from its operator. The team stays.'),
      ...ifUnchanged,
    },
  },
  output: data({
    ...changedConversation,
    operator_id: OperatorId.schema
      .nullable()
      .optional()
      .describe(
        'Operator after the write. Null: none. Absent after `team_id` without directory_read, contact_read_pii and the data access pii.',
      ),
    team_id: TeamId.schema.nullable().describe('Team after the write. Null: none.'),
  }),
  async handle({ input: { conversation_id, operator_id, team_id, none, if_updated_at }, authority, perform }) {
    if ([operator_id, team_id, none].filter((one) => one !== undefined).length !== 1)
      throw misfit('operator_id', 'exactly one of operator_id, team_id and none');
    const teams = authority.restrictions.team_ids;
    const done = await perform({
      conversation: conversation_id,
      ...(operator_id !== undefined && { operator: native(operator_id) }),
      ...(team_id !== undefined && { team: teams?.includes(team_id) === false ? NO_TEAM : native(team_id) }),
      if_updated_at,
    });
    const website = websiteOfId(conversation_id);
    const operator = done.operator === null ? null : OperatorId.format(website, done.operator);
    return {
      data: {
        success: true as const,
        ...((team_id === undefined || holds(authority, both(DIRECTORY, PII))) && { operator_id: operator }),
        team_id: done.team === null ? null : TeamId.format(website, done.team),
        updated_at: done.updated_at,
      },
    };
  },
});
