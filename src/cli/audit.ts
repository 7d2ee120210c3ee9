import type { Command } from 'commander';
import { verifyCommand } from './audit-verify.ts';
import type { RunAction } from './context.ts';

export function auditCommands(program: Command, register: RunAction): void {
  const group = program.command('audit').description('check the audit records');
  verifyCommand(group, register);
}
