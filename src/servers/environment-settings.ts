import { z } from 'zod';
import type { Base } from '../base.ts';
import { isLoopback } from '../lib/addresses.ts';
import { GatehouseError } from '../lib/errors.ts';
import { hasControls } from '../lib/hidden-characters.ts';
import { restrictionsSchema } from './restrictions.ts';
import { noteChange } from '../store/change-notes.ts';
import type { DbOrTx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';

/** The settings of an environment. */
export const settingsSchema = z.strictObject({
  /** Whether users may create their own MCP servers with a JWT. */
  userServers: z.enum(['on', 'off']).default('on'),
  /** Limits every server that a JWT created, in addition to its own restrictions. */
  userServerRestrictions: restrictionsSchema.default({}),
  /** Browser origins that may embed the connect page and call the connect routes and the MCP endpoints. */
  origins: z
    .array(
      z.string().refine((text) => URL.canParse(text) && new URL(text).origin === text && isPlainHost(text), {
        message: 'must be an origin without path and wildcard: https://app.example.com',
      }),
    )
    .max(100)
    .default([]),
  /**
   * Addresses to which a person may be sent after connecting, exactly as written. Loopback is allowed in development.
   */
  redirectUris: z
    .array(
      z.string().refine(isRedirectUri, {
        message: 'must be an https address (http for loopback) without fragment and user name',
      }),
    )
    .max(100)
    .default([]),
  /**
   * Stored content of calls: nothing, the messages of failed calls, input and output of failed calls, or those of all.
   */
  payloads: z.enum(['off', 'messages', 'errors', 'all']).default('messages'),
  /** Days for which they are stored. A change holds for later calls. */
  payloadDays: z
    .int('must be a whole number from 1 to 90')
    .min(1, 'must be a whole number from 1 to 90')
    .max(90, 'must be a whole number from 1 to 90')
    .default(7),
  /** Whether the search of actions counts which executions follow its words, and ranks by these counts. */
  searchLearning: z.enum(['on', 'off']).default('on'),
  /** The operator's application as the connect page shows it. */
  branding: z
    .strictObject({
      name: z
        .string()
        .trim()
        .min(1)
        .max(60)
        .refine((text) => !hasControls(text), 'must not hold control characters')
        .optional(),
      /** An https address of an image, preferably square. */
      logoUrl: z
        .url({ protocol: /^https$/ })
        .refine(isPlainHost, 'must be at a host of letters, digits, dots and hyphens')
        .max(500)
        .optional(),
      /** Color of buttons and links, #rrggbb. */
      color: z
        .string()
        .regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #2563eb')
        .optional(),
    })
    .default({}),
});

/**
 * Allows only plain hosts, because they become part of page policies. There `;` ends a directive and `*` means every
 * host.
 */
function isPlainHost(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return (
    url !== undefined && /^https?:$/.test(url.protocol) && /^([\w.-]+|\[[\da-f:]+\])$/.test(url.hostname)
  );
}

/** Allows https, or http to loopback; no fragment and no user name (RFC 9700 section 4.1). */
function isRedirectUri(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || url.hash || url.username || url.password) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

/**
 * @throws GatehouseError `redirect_not_allowed` unless the address is one of the environment's `redirectUris`, or
 * loopback in development.
 */
export function assertRedirectAllowed(settings: Settings, environment: Environment, uri: string): void {
  if (settings.redirectUris.includes(uri)) return;
  const loopback = URL.canParse(uri) && isLoopback(new URL(uri).hostname);
  if (environment === 'development' && loopback && isRedirectUri(uri)) return;
  throw new GatehouseError('redirect_not_allowed', 'The redirect address is not allowed.', {
    fix: 'Add it, exactly as it is sent, to redirectUris (PUT /api/settings).',
  });
}

export type Settings = z.infer<typeof settingsSchema>;

export async function readSettings(db: DbOrTx, environment: Environment): Promise<Settings> {
  const row = await db
    .selectFrom('settings')
    .select('settings')
    .where('environment', '=', environment)
    .executeTakeFirst();
  return settingsSchema.parse(row ? JSON.parse(row.settings) : {});
}

/** Changes the given settings and returns all of them. */
export async function changeSettings(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
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
    await noteChange(tx, clock.now(), { environment, kind: 'environment', subject: 'settings' });
    return settings;
  });
}
