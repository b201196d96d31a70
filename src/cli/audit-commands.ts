import type { Command } from 'commander';
import { pageWanted, withPage, type ListFlags } from './record-commands.ts';
import type { ServiceTarget } from './service.ts';
import type { ExportOptions } from './audit-export.ts';

type Done = (code: number) => void;

interface AuditFlags extends ServiceTarget {
  since?: string;
  until?: string;
  caller?: string;
  operation?: string;
  target?: string;
}

/** Adds `audit list`, `audit export` and `audit verify`. */
export function addAudit(program: Command, done: Done): void {
  const audit = program
    .command('audit')
    .description('The log of administration: list and export it, and check that no row was changed.')
    .addHelpText('after', AUDIT_HELP);
  withPage(filtered(audit.command('list')), { what: 'entries' })
    .description('List acts of administration, newest first.')
    .option('--json', 'print the entries as JSON')
    .addHelpText('after', LIST_HELP)
    .action(async (options: AuditFlags & ListFlags, command: Command) => {
      const page = pageWanted(options, command);
      const { AUDIT, listRecords } = await import('./record-kinds.ts');
      await using service = await opened(options);
      done(
        await listRecords(service, AUDIT, {
          filters: filtersOf(options),
          page,
          json: options.json === true,
        }),
      );
    });
  filtered(audit.command('export'))
    .description('Write acts of administration as lines of JSON, newest first.')
    .option('--format <format>', 'jsonl, or ocsf: API Activity of the Open Cybersecurity Schema', 'jsonl')
    .option('--to <address>', 'https:// address that takes lines, or syslog:// or syslogs:// host and port')
    .addHelpText('after', EXPORT_HELP)
    .action(async (options: AuditFlags & ExportOptions, command: Command) => {
      const { format, to } = options;
      if (format !== 'jsonl' && format !== 'ocsf') command.error('error: --format must be jsonl or ocsf');
      if (to !== undefined && !(URL.canParse(to) && /^(https?|syslogs?):$/.test(new URL(to).protocol)))
        command.error('error: --to must be an https://, http://, syslog:// or syslogs:// address');
      const { exportAudit } = await import('./audit-export.ts');
      await using service = await opened(options);
      done(await exportAudit(service, { format, to, filters: filtersOf(options) }));
    });
  audit
    .command('verify')
    .description(
      'Check the hashes of all entries and calls, and the signatures of all checkpoints, in the local store.',
    )
    .option('--checkpoint <signature>', 'checkpoint of the service log that must be there')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', VERIFY_HELP)
    .action(async ({ checkpoint, json }: { checkpoint?: string; json?: boolean }) => {
      const { verify } = await import('./audit-check.ts');
      done(await verify({ checkpoint, json: json === true }));
    });
}

async function opened(target: ServiceTarget) {
  const { openService } = await import('./service.ts');
  return openService(target);
}

function filtered(command: Command): Command {
  return command
    .option('--since <time>', 'only entries at or after this time, such as 2026-03-01T12:00:00Z')
    .option('--until <time>', 'only entries before this time')
    .option(
      '--caller <caller>',
      'only entries of this caller: key:<keyId>, person:<personId>, jwt:<userId>, cli',
    )
    .option('--operation <operation>', 'only entries of this operation, such as updateServer')
    .option('--target <id>', 'only entries with this target')
    .option('--url <url>', 'remote Gatehouse (default: GATEHOUSE_URL, else the store of this machine)')
    .option('--key <key>', 'API key of that Gatehouse (default: GATEHOUSE_KEY)')
    .option('--environment <environment>', 'environment of the local store (default: development)');
}

function filtersOf({ since, until, caller, operation, target }: AuditFlags) {
  return { since, until, caller, operation, target };
}

const AUDIT_HELP = `
Examples:
  $ gatehouse audit list --operation updateServer
  $ gatehouse audit export --format ocsf --since 2026-03-01T00:00:00Z > audit.jsonl
  $ gatehouse audit verify`;

const LIST_HELP = `
Examples:
  $ gatehouse audit list --operation updateServer --since 2026-03-01T12:00:00Z
  $ gatehouse audit list --caller cli --limit 10 --json`;

const EXPORT_HELP = `
Examples:
  $ gatehouse audit export > audit.jsonl
  $ gatehouse audit export --format ocsf --to https://logs.example.com/ingest
  $ gatehouse audit export --to syslogs://logs.example.com:6514`;

const VERIFY_HELP = `
Prints the first broken row, and exits with 1. The end of the audit log or of the record of calls may have been removed
with its checkpoints. The file audit-anchor-….json in the home names the newest checkpoint, so that this is found. The
service also logs the signature of each checkpoint: give one of a log outside of this machine. After a restore by other
means than gatehouse restore, delete the file.

Examples:
  $ gatehouse audit verify
  $ gatehouse audit verify --checkpoint 3nQ…`;
