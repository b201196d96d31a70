import { createHmac, randomBytes, timingSafeEqual, type KeyObject } from 'node:crypto';
import type { Base } from '../base.ts';
import { storedSecret } from '../identity/secrets.ts';
import { MINUTE } from '../lib/clock.ts';
import { canonicalJson, type JsonObject } from '../lib/json.ts';

const LIFETIME_MS = 10 * MINUTE;
const ID_BYTES = 16;
const TIME_BYTES = 6;
const TOKEN = /^gh_confirm_([\w-]{30})\.([\w-]{43})$/;

type ConfirmationContext = Pick<Base, 'db' | 'keys' | 'clock'>;

const keyOf = storedSecret('confirmation-key');

/** All values that a confirmation covers; it does not hold for a call with any other value. */
export interface ConfirmedCall {
  environment: string;
  serverId: string;
  userId: string | null;
  caller: string;
  connectorId: string;
  actionId: string;
  /** Hash of the action's definition, because a custom connector may change between question and answer. */
  definition: string;
  credentialId: string | null;
  input: JsonObject;
  [member: string]: string | null | JsonObject;
}

/** The reason why a token is refused. */
export type TokenFault = 'altered' | 'expired' | 'spent';

/**
 * Issues a token that lets exactly this call run once, within ten minutes. Nothing is stored: the token holds its own
 * id and end, and a keyed hash of them and of the call.
 */
export async function issueConfirmation(
  context: ConfirmationContext,
  call: ConfirmedCall,
): Promise<{ token: string; expiresAt: number }> {
  const expiresAt = context.clock.now() + LIFETIME_MS;
  const bytes = Buffer.concat([randomBytes(ID_BYTES), Buffer.alloc(TIME_BYTES)]);
  bytes.writeUIntBE(expiresAt, ID_BYTES, TIME_BYTES);
  const payload = bytes.toString('base64url');
  const hash = hashOf(await keyOf(context), payload, call);
  return { token: `gh_confirm_${payload}.${hash.toString('base64url')}`, expiresAt };
}

/** Takes a token for this call. When two processes take the same token, one of them gets `spent`. */
export async function takeConfirmation(
  context: ConfirmationContext,
  call: ConfirmedCall,
  token: string,
): Promise<TokenFault | undefined> {
  const [, payload = '', hash = ''] = TOKEN.exec(token) ?? [];
  const given = Buffer.from(hash, 'base64url');
  const expected = hashOf(await keyOf(context), payload, call);
  // The last character of Base64 has several spellings of the same bytes. Only the exact spelling is accepted.
  const isExact = given.length === expected.length && given.toString('base64url') === hash;
  if (!isExact || !timingSafeEqual(given, expected)) return 'altered';
  const expiresAt = Buffer.from(payload, 'base64url').readUIntBE(ID_BYTES, TIME_BYTES);
  if (expiresAt <= context.clock.now()) return 'expired';
  return (await markSpent(context, payload, expiresAt)) ? undefined : 'spent';
}

/** Returns true once for each id, among all processes. The id is stored until `expiresAt`. */
export async function markSpent({ db }: Pick<Base, 'db'>, id: string, expiresAt: number): Promise<boolean> {
  const spent = await db
    .insertInto('spent_tokens')
    .values({ token_id: id, expires_at: expiresAt })
    .onConflict((c) => c.column('token_id').doNothing())
    .returning('token_id')
    .executeTakeFirst();
  return spent !== undefined;
}

function hashOf(key: KeyObject, payload: string, call: ConfirmedCall): Buffer {
  return createHmac('sha256', key)
    .update(`${payload}\n${canonicalJson(call)}`)
    .digest();
}
