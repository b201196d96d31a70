import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { ERROR_CODES } from '../../../src/lib/errors.ts';
import { table } from './tables.ts';

/* docs/errors.md: each code of src/lib/errors.ts, with the texts of data/error-codes.yaml. */

const INTRODUCTION = `# Error codes

Every refusal has a code. REST has it as \`code\` next to \`error\` and \`requestId\`; an MCP tool result has it in \`structuredContent\`, and
an error of JSON-RPC in \`error.data.code\`. Compare codes, not messages: a code never changes its meaning, and a message may. This page
is printed from the code.

\`details\` has facts for programs, such as \`faults\`, \`rule\` or the \`status\` of an app.
`;

const texts = z.record(z.string(), z.tuple([z.string(), z.string()]));

/** Returns the page. @throws Error for a code without a text, and for a text without a code. */
export function errorsPage(): string {
  const file = new URL('../../../data/error-codes.yaml', import.meta.url);
  const written = texts.parse(parse(readFileSync(file, 'utf8')));
  const codes = Object.entries(ERROR_CODES);
  const stray = Object.keys(written).filter((code) => !Object.hasOwn(ERROR_CODES, code));
  if (stray.length > 0) throw new Error(`data/error-codes.yaml has no such codes: ${stray.join(', ')}`);
  const byStatus = [...Map.groupBy(codes, ([, { status }]) => status)].toSorted(([a], [b]) => a - b);
  const overview = byStatus.map(([status, ones]) => [
    String(status),
    ones.map(([code]) => `[\`${code}\`](#${code})`).join(', '),
  ]);
  const sections = byStatus.flatMap(([status, ones]) => [
    `## ${status}\n`,
    ...ones.map(([code, { rpc }]) => {
      const [meaning, remedy] = written[code] ?? [];
      if (!meaning || !remedy) throw new Error(`data/error-codes.yaml has no text of ${code}.`);
      return `### \`${code}\`\n\n${meaning} ${remedy}\n\nHTTP ${status}, JSON-RPC ${rpc}.\n`;
    }),
  ]);
  return [INTRODUCTION, table(['Status', 'Codes'], overview), ...sections].join('\n');
}
