import { createHash } from 'node:crypto';
import type { Snapshot } from '../store/snapshot.ts';
import { tablesOf, type TableShape } from '../store/table-shapes.ts';
import { FORMAT, type Header, type Progress, type TableLine } from './backup-format.ts';

/** Tables that belong to running processes, and the table of schema versions, which the restore writes itself. */
const LEFT_OUT = new Set(['presence', 'write_probes', 'schema_versions']);
const CHUNK_CHARS = 256 * 1024;

interface DumpOptions extends Pick<Header, 'release' | 'at' | 'masterKeys'> {
  onTable: Progress;
}

/** Returns the dump of a snapshot in pieces. */
export async function* dump(
  snapshot: Snapshot,
  { onTable, ...about }: DumpOptions,
): AsyncGenerator<Buffer, Record<string, number>> {
  const hash = createHash('sha256');
  const hashed = (text: string): Buffer => {
    const bytes = Buffer.from(text);
    hash.update(bytes);
    return bytes;
  };
  const head: Header = {
    gatehouse: 'store',
    format: FORMAT,
    schemaVersion: snapshot.version,
    database: snapshot.kind,
    ...about,
  };
  yield hashed(line(head));
  const counts: Record<string, number> = {};
  for (const shape of await tablesOf(snapshot.version)) {
    if (LEFT_OUT.has(shape.name)) continue;
    let text = line({ table: shape.name, columns: shape.columns, binary: shape.binary } satisfies TableLine);
    let count = 0;
    for await (const values of snapshot.rows(shape.name, shape.columns)) {
      count++;
      text += line(toJson(values, shape));
      if (text.length < CHUNK_CHARS) continue;
      yield hashed(text);
      text = '';
    }
    yield hashed(text);
    counts[shape.name] = count;
    onTable(shape.name, count);
  }
  yield Buffer.from(line({ end: true, rows: counts, sha256: hash.digest('hex') }));
  return counts;
}

function toJson(values: unknown[], { binary }: TableShape): unknown[] {
  if (binary.length === 0) return values;
  return values.map((value) => (Buffer.isBuffer(value) ? value.toString('base64') : value));
}

function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}
