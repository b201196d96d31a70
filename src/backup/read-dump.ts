import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { MIGRATIONS } from '../store/migrations/migrations.ts';
import {
  BackupError,
  BROKEN,
  end,
  FORMAT,
  header,
  row,
  table,
  type Header,
  type TableLine,
} from './backup-format.ts';

type Value = string | number | null | Buffer;

/** A table line, or a row of the table before it. */
export type Item = { table: TableLine } | { values: Value[] };

export interface Dump {
  readonly header: Header;
  /**
   * The tables and rows.
   * @throws BackupError at the end, when the dump is not whole.
   */
  readonly items: AsyncIterable<Item>;
}

/**
 * Reads the header of a dump. The tables and rows are read while `items` is iterated.
 * @throws BackupError when it is not a dump, or was written by a newer release or before the first one.
 */
export async function readDump(source: AsyncIterable<Uint8Array>): Promise<Dump> {
  const lines = linesOf(source);
  const first = await lines.next();
  if (first.done) throw new BackupError(BROKEN);
  const head = header.safeParse(jsonOf(first.value));
  if (!head.success) throw new BackupError('The file is not a backup of Gatehouse.');
  const { format, schemaVersion, release } = head.data;
  if (format < FORMAT) {
    throw new BackupError(
      `The backup is of a Gatehouse before 0.2.0, the first release (${release}), and cannot be restored: start with an ` +
        'empty home, or restore it with the program that wrote it.',
    );
  }
  if (format > FORMAT || schemaVersion > MIGRATIONS.length) {
    throw new BackupError(
      `The backup was written by Gatehouse ${release} at schema version ${schemaVersion}; this release knows ` +
        `${MIGRATIONS.length}. Restore it with that release or a newer one.`,
    );
  }
  const hash = createHash('sha256').update(first.value);
  return { header: head.data, items: itemsOf(lines, hash) };
}

async function* itemsOf(
  lines: AsyncGenerator<Buffer>,
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<Item> {
  const counts: Record<string, number> = {};
  let current: TableLine | undefined;
  for await (const line of lines) {
    const value = jsonOf(line);
    if (Array.isArray(value)) {
      if (!current) throw new BackupError(BROKEN);
      counts[current.table] = (counts[current.table] ?? 0) + 1;
      hash.update(line);
      yield { values: fromJson(parse(row, value), current) };
    } else if (typeof value === 'object' && value !== null && 'end' in value) {
      const said = parse(end, value);
      const whole =
        said.sha256 === hash.digest('hex') &&
        Object.entries(said.rows).every(([name, count]) => counts[name] === count);
      if (!whole || !(await lines.next()).done) throw new BackupError(BROKEN);
      return;
    } else {
      current = parse(table, value);
      counts[current.table] = 0;
      hash.update(line);
      yield { table: current };
    }
  }
  throw new BackupError(BROKEN);
}

function fromJson(values: (string | number | null)[], { columns, binary }: TableLine): Value[] {
  if (values.length !== columns.length) throw new BackupError(BROKEN);
  if (binary.length === 0) return values;
  return values.map((value, at) =>
    typeof value === 'string' && binary.includes(columns[at] ?? '') ? Buffer.from(value, 'base64') : value,
  );
}

function parse<T>(shape: z.ZodType<T>, value: unknown): T {
  const parsed = shape.safeParse(value);
  if (!parsed.success) throw new BackupError(BROKEN, { cause: parsed.error });
  return parsed.data;
}

function jsonOf(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString());
  } catch (cause) {
    throw new BackupError(BROKEN, { cause });
  }
}

/** Limit of a line, which is held in memory as one string. No row is longer. */
const LONGEST_LINE = 256 * 1024 * 1024;

/** Returns the lines with their line feed. @throws BackupError when the last one has none. */
async function* linesOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of source) {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      parts.push(chunk.subarray(from, at + 1));
      yield Buffer.concat(parts);
      parts = [];
      length = 0;
      from = at + 1;
    }
    if (from === chunk.length) continue;
    parts.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > LONGEST_LINE) throw new BackupError(BROKEN);
  }
  if (parts.length > 0) throw new BackupError(BROKEN);
}
