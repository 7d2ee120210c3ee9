import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/config/package.ts';

/**
 * A room is a source folder with a rule about its imports. The table has forbidden imports for each room. The last rows
 * are allowed imports.
 */
const PLANTED: [room: string, imported: string, forbidden: boolean][] = [
  ['src/core', '../store/calls/read.ts', true],
  ['src/core', 'postgres', true],
  ['src/core', 'node:fs', true],
  ['src/core', '../config/config.ts', true],
  ['src/core', '../../tools/ai/ai-feature-get.ts', true],
  ['src/views', '../../tools/ai/ai-feature-get.ts', true],
  ['src/gateway', '../../tools/ai/ai-feature-get.ts', true],
  ['src/cli', '../../tools/ai/ai-feature-get.ts', true],
  ['src/views', '../store/calls/read.ts', true],
  ['src/views', '../writes/config-plan.ts', true],
  ['src/core', '../writes/config-plan.ts', true],
  ['src/gateway', '../writes/config-plan.ts', true],
  ['src/gateway', '../native/language.ts', true],
  ['src/store/calls', '../../writes/config-plan.ts', true],
  ['src/writes', '../store/calls/read.ts', true],
  ['src/writes', '../gateway/call.ts', true],
  ['src/writes', '../../tools/ai/ai-feature-get.ts', true],
  ['tools/discovery', '../../src/store/calls/read.ts', true],
  ['tools/discovery', '../../src/gateway/call.ts', true],
  ['src/store/calls', '../../gateway/call.ts', true],
  ['src/store/calls', '../../auth/tokens.ts', true],
  ['src/store/events', '../../events/pull.ts', true],
  ['src/store/open', '../../process/log.ts', true],
  ['src/store/newroom', '../../gateway/call.ts', true],
  ['src/auth/oauth', '../../events/receipts.ts', true],
  ['src/auth', '../sources/write-back.ts', true],
  ['src/auth', '../gateway/call.ts', true],
  ['src/sources', '../surfaces/http/reply.ts', true],
  ['src/gateway', '../surfaces/http/reply.ts', true],
  ['src/gateway', '../config/config.ts', true],
  ['src/surfaces/rest', '../../store/calls/read.ts', true],
  ['src/surfaces/rest', 'postgres', true],
  ['src/cli', '../surfaces/http/reply.ts', true],
  ['src/gateway', '@modelcontextprotocol/sdk/server/index.js', true],
  ['src/core', '@modelcontextprotocol/sdk/types.js', true],
  ['src/tasks', '../surfaces/http/reply.ts', true],
  ['src/tasks', '../auth/tokens.ts', true],
  ['src/tasks', '../../skills/contact-inspection.ts', true],
  ['src/tasks', '../gateway/call.ts', false],
  ['src/flow', '../outbound/request.ts', true],
  ['src/flow', '../store/driver/postgres.ts', true],
  ['src/flow', '../auth/tokens.ts', true],
  ['src/flow', '../core/failures.ts', false],
  ['src/outbound', '../flow/fair-queue.ts', true],
  ['src/outbound', '../events/pull.ts', true],
  ['src/outbound', '../store/driver/postgres.ts', true],
  ['src/outbound', '../auth/keys.ts', true],
  ['src/outbound', '../config/config.ts', true],
  ['src/outbound', '../core/events.ts', false],
  ['src/core', '../flow/fair-queue.ts', true],
  ['src/core', '../outbound/request.ts', true],
  ['src/core', '../events/pull.ts', true],
  ['src/views', '../flow/fair-queue.ts', true],
  ['tools/visitors', '../../src/outbound/request.ts', true],
  ['src/writes', '../flow/fair-queue.ts', true],
  ['src/store/calls', '../../outbound/request.ts', true],
  ['src/store/driver', '../../flow/fair-queue.ts', false],
  ['src/gateway', '../outbound/request.ts', true],
  ['src/gateway', '../flow/batch-queues.ts', false],
  ['src/tasks', '../outbound/request.ts', true],
  ['src/tasks', '../flow/periodic-job.ts', false],
  ['src/events', '../auth/tokens.ts', true],
  ['src/events/realtime', '../../gateway/call.ts', true],
  ['src/events/realtime', '../../tasks/tasks.ts', true],
  ['src/events/webhooks', '../../outbound/sender.ts', false],
  ['src/events', '../store/events/journal.ts', false],
  ['src/sources/chatwoot', '../../outbound/request.ts', false],
  ['src/auth', '../outbound/identity-fetch.ts', false],
  ['src/surfaces/http', '../../flow/network.ts', false],
  ['src/config', '../auth/keys.ts', true],
  ['src/config', '../store/embedded/data-folder.ts', true],
  ['src/config', '../core/ids.ts', false],
  ['src/store/driver', '../calls/guard.ts', true],
  ['src/store/driver', '../../gateway/call.ts', true],
  ['src/store/driver', 'postgres', false],
  ['src/store/embedded', '../driver/postgres.ts', true],
  ['src/store/open', '../calls/guard.ts', true],
  ['src/store/open', '../doctor/doctor.ts', true],
  ['src/store/open', '../driver/lineage.ts', false],
  ['src/store/calls', '../open/replica.ts', true],
  ['src/store/calls', '../administration/people.ts', true],
  ['src/store/calls', 'postgres', true],
  ['src/store/calls', '../driver/lineage.ts', false],
  ['src/store/events', '../doctor/doctor.ts', true],
  ['src/store/events', '../tasks/tasks.ts', true],
  ['src/store/events', '../calls/guard.ts', false],
  ['src/store/tasks', '../sign-in/sessions.ts', true],
  ['src/store/tasks', '../../core/sql.ts', false],
  ['src/store/administration', '../sign-in/sessions.ts', true],
  ['src/store/administration', '../events/deliveries.ts', false],
  ['src/store/doctor', '../open/build.ts', true],
  ['src/store/sign-in', '../events/journal.ts', true],
  ['src/store/sign-in', '../administration/people.ts', false],
  ['prompts', '../src/gateway/call.ts', true],
  ['resources', '../src/store/calls/read.ts', true],
  ['skills', '../src/gateway/call.ts', true],
  ['skills', '../src/store/calls/read.ts', true],
  ['src/gateway', '../../skills/contact-inspection.ts', true],
  ['src/surfaces/a2a', '../../../skills/contact-inspection.ts', true],
  ['src/surfaces/a2a', '../../store/tasks/tasks.ts', true],
  ['src/gateway', '../tasks/tasks.ts', true],
  ['src/store/tasks', '../../tasks/tasks.ts', true],
  ['src/tasks', '../surfaces/http/reply.ts', true],
  ['src/tasks', '../auth/tokens.ts', true],
  ['src/tasks', '@a2a-js/sdk', true],
  ['src/gateway', '@a2a-js/sdk/server', true],
  ['src/core', '@a2a-js/sdk', true],
  ['src/observe', '../surfaces/http/reply.ts', true],
  ['src/observe', '../auth/tokens.ts', true],
  ['src/observe', '../config/config.ts', true],
  ['src/gateway', '../observe/metrics.ts', true],
  ['src/surfaces/http', '../../observe/metrics.ts', true],
  ['src/store/open', '../../observe/metrics.ts', true],
  ['src/gateway', '../process/log.ts', true],
  ['src/surfaces/mcp', '../rest/rest.ts', true],
  ['src/surfaces/rest', '../mcp/mcp.ts', true],
  ['src/surfaces/a2a', '../oauth/oauth.ts', true],
  ['src/surfaces/record', '../oauth/oauth.ts', true],
  ['src/surfaces/oauth', '../record/record.ts', true],
  ['src/surfaces/oauth/pages', '../../record/page.ts', true],
  ['src/surfaces/docs/reference', '../../oauth/oauth.ts', true],
  ['src/surfaces/docs', '../openapi/openapi.ts', true],
  ['src/surfaces/http', '../rest/rest.ts', true],
  ['src/surfaces/mcp', '../http/reply.ts', false],
  ['src/surfaces/record', '../http/pages/visit.ts', false],
  ['src/surfaces/mcp', '../jsonrpc/envelope.ts', false],
  ['src/cli', '../observe/metrics.ts', true],
  ['src/observe', '../store/doctor/gauges.ts', false],
  ['src/observe', '../gateway/audit.ts', false],
  ['skills', '../src/core/skill.ts', false],
  ['src/writes', '../views/visitor.ts', false],
  ['src/writes', '../native/language.ts', false],
  ['src/writes', '../core/writes.ts', false],
  ['tools/visitors', '../../src/writes/visitor-note-add.ts', false],
  ['src/tasks', '../store/tasks/tasks.ts', false],
  ['src/tasks', '../gateway/call.ts', false],
  ['src/surfaces/a2a', '@a2a-js/sdk/server', false],
  ['src/surfaces/a2a', '../../tasks/tasks.ts', false],
  ['resources', '../src/core/resource.ts', false],
  ['src/surfaces/mcp', '@modelcontextprotocol/sdk/server/index.js', false],
  ['src/store/calls', '../../core/sql.ts', false],
  ['src/surfaces/rest', '../../gateway/call.ts', false],
  ['test/tools/contacts', '../../../tools/contacts/contact-get.ts', true],
  ['test/tools/contacts', '../../../src/views/contact.ts', true],
  ['test/tools/contacts', '../../support/authority/row.ts', false],
];
const root = fileURLToPath(packageRoot);

function refused(): Set<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-walls-'));
  copyFileSync(join(root, 'biome.json'), join(folder, 'biome.json'));
  PLANTED.forEach(([room, imported], i) => {
    mkdirSync(join(folder, room), { recursive: true });
    const text = `import * as planted from '${imported}';\nexport default planted;\n`;
    writeFileSync(join(folder, room, `planted-${i}.ts`), text);
  });
  const { stdout, stderr } = spawnSync(
    join(root, 'node_modules/.bin/biome'),
    ['lint', '--only=style/noRestrictedImports', '--max-diagnostics=none', '--vcs-enabled=false', '.'],
    { cwd: folder, encoding: 'utf8' },
  );
  rmSync(folder, { recursive: true });
  return new Set((stdout + stderr).match(/planted-\d+\.ts(?=:\d+:\d+ lint\/style\/noRestrictedImports)/g));
}

describe('walls between the rooms', () => {
  const found = refused();
  it.each(PLANTED.map((planted, i) => [...planted, i] as const))(
    '%s imports %s: forbidden %s',
    (_room, _imported, forbidden, i) => {
      expect(found.has(`planted-${i}.ts`)).toBe(forbidden);
    },
  );
});
