import { z } from 'zod';
import type { Context } from '../context.ts';
import { restrictionsSchema } from './restrictions.ts';
import type { DbOrTx, Environment } from '../store/schema.ts';

/** What an operator sets per environment (contract.md sections 2 and 5). */
export const settingsSchema = z.strictObject({
  /** Whether users may make MCP servers of their own with a JWT. */
  userServers: z.enum(['on', 'off']).default('on'),
  /** Limits every server that a JWT made, beside its own restrictions. */
  userServerRestrictions: restrictionsSchema.default({}),
  /** Browser origins that may speak to the MCP endpoints. */
  origins: z
    .array(
      z.string().refine((text) => URL.canParse(text) && new URL(text).origin === text, {
        message: 'must be an origin without path: https://app.example.com',
      }),
    )
    .max(100)
    .default([]),
});
export type Settings = z.infer<typeof settingsSchema>;

export async function readSettings(db: DbOrTx, environment: Environment): Promise<Settings> {
  const row = await db
    .selectFrom('settings')
    .select('settings')
    .where('environment', '=', environment)
    .executeTakeFirst();
  return settingsSchema.parse(row ? JSON.parse(row.settings) : {});
}

/** Changes what is named and answers with the whole. */
export async function changeSettings(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  environment: Environment,
  changes: Partial<Settings>,
): Promise<Settings> {
  return db.transaction().execute(async (tx) => {
    const settings = { ...(await readSettings(tx, environment)), ...changes };
    const row = { settings: JSON.stringify(settings), updated_at: clock.now() };
    await tx
      .insertInto('settings')
      .values({ environment, ...row })
      .onConflict((c) => c.column('environment').doUpdateSet(row))
      .execute();
    return settings;
  });
}
