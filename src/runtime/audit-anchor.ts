import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Base } from '../base.ts';
import { isoTime } from '../lib/clock.ts';
import { thrownMessage } from '../lib/errors.ts';
import { parseJson } from '../lib/json.ts';
import { replaceFile } from '../lib/replace-file.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';

/* The newest checkpoint of a store in a file of the home, where a writer of the database cannot remove it. */

const content = z.object({ sequence: z.int(), signature: z.string(), at: z.string() });

/** A checkpoint that a home saw in its store. `at`: its time, in ISO 8601. */
export type Anchor = z.infer<typeof content>;

/** Returns the anchor of a file; undefined where there is none. @throws for a file that is no anchor. */
export function readAnchor(file: string): Anchor | undefined {
  if (!existsSync(file)) return undefined;
  try {
    return content.parse(parseJson(readFileSync(file, 'utf8')));
  } catch (error) {
    throw new Error(`Cannot read the audit anchor ${file}: ${thrownMessage(error)}`, { cause: error });
  }
}

/** Returns whether the store has the checkpoint of an anchor. */
export async function isAnchored(db: DbOrTx, { sequence, signature }: Anchor): Promise<boolean> {
  const row = await db
    .selectFrom('audit_checkpoints')
    .select('signature')
    .where('sequence', '=', sequence)
    .executeTakeFirst();
  return row?.signature === signature;
}

/**
 * Names a new checkpoint in the file. An anchor that the store lacks stays, because it proves that the end of the audit
 * log was removed. Returns `missing` then.
 * @throws the error of the system when the file cannot be written.
 */
export async function moveAnchor(
  { db }: Pick<Base, 'db'>,
  file: string,
  { sequence, signature, at }: Pick<Tables['audit_checkpoints'], 'sequence' | 'signature' | 'at'>,
): Promise<'moved' | 'missing'> {
  const before = readAnchor(file);
  if (before && !(await isAnchored(db, before))) return 'missing';
  // Another process with this home may have named a newer one.
  if (before && before.sequence >= sequence) return 'moved';
  replaceFile(file, `${JSON.stringify({ sequence, signature, at: isoTime(at) } satisfies Anchor)}\n`);
  return 'moved';
}
