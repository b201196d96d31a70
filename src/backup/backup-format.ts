import { z } from 'zod';

/**
 * A dump is lines of JSON: a header, then for each table a line with its columns and a line for each row, then an end
 * with the numbers of rows and the SHA-256 of all lines before it. Format 1 is of stores before the first release, whose
 * schema had other versions.
 */
export const FORMAT = 2;

export const header = z.object({
  gatehouse: z.literal('store'),
  format: z.number().int(),
  release: z.string(),
  schemaVersion: z.number().int().positive(),
  database: z.enum(['sqlite', 'postgres']),
  at: z.string(),
  /** The master keys, in base64; the first one seals. Absent when the backup leaves them out. */
  masterKeys: z.array(z.string()).min(1).optional(),
});
export type Header = z.infer<typeof header>;

export const table = z.object({
  table: z.string(),
  columns: z.array(z.string()).min(1),
  /** Columns whose values are base64. */
  binary: z.array(z.string()),
});
export type TableLine = z.infer<typeof table>;

export const row = z.array(z.union([z.string(), z.number(), z.null()]));

export const end = z.object({
  end: z.literal(true),
  rows: z.record(z.string(), z.number().int()),
  sha256: z.string(),
});

/** The reason why a backup or a restore cannot be done, written for the operator. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}

export const BROKEN =
  'The backup is cut or was altered: it does not end as it was written. Nothing was restored. Use another copy of it.';

/** Called with each table that was written or read, and its number of rows. */
export type Progress = (table: string, rows: number) => void;
