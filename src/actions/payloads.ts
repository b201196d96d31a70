import { z } from 'zod';
import type { Base } from '../base.ts';
import type { Action, Connector } from '../connectors/catalog.ts';
import { KeyError } from '../crypto/key-ring.ts';
import { STALE_MS } from '../identity/caller.ts';
import type { GatehouseError } from '../lib/errors.ts';
import { asJson, type Json, type JsonObject } from '../lib/json.ts';
import { secretsIn } from '../lib/scrub.ts';
import { scrubJson } from '../lib/scrub-json.ts';
import type { Secret } from '../lib/secret.ts';
import { createTtlCache } from '../lib/ttl-cache.ts';
import { readSettings, type Settings } from '../servers/environment-settings.ts';
import type { Environment } from '../store/environments.ts';
import { boundTo } from '../store/sealed-columns.ts';
import { secretValues } from '../upstream/authentication.ts';
import type { OpenCredential } from '../upstream/open-credential.ts';
import { isDenial } from './call-outcome.ts';
import { redact } from './redact.ts';

/** Bytes of an input, and of an output, that are stored. */
const MAX_BYTES = 64 * 1024;

/** Stored content of a call, and the number of days for it. A failed call has its error as output. */
export interface Payload {
  /** Absent where only messages are stored. */
  input?: Json;
  output: Json;
  days: number;
}

/** Returns which calls of an environment have their payloads stored. A change applies within a second. */
export type PayloadPolicy = (environment: Environment) => Promise<Pick<Settings, 'payloads' | 'payloadDays'>>;

const NONE = { payloads: 'off', payloadDays: 1 } as const;

export function createPayloadPolicy({ db, clock, log }: Pick<Base, 'db' | 'clock' | 'log'>): PayloadPolicy {
  const settings = createTtlCache<Settings>({ ttlMs: STALE_MS, max: 10, clock });
  return async (environment) => {
    try {
      return await settings.get(environment, () => readSettings(db, environment));
    } catch (error) {
      log.error({ err: error }, 'settings not read, payload not stored');
      return NONE;
    }
  };
}

/**
 * The connector and the credential of the requests to the app. They are values, because V8 kept the whole request of a stored
 * function in memory.
 */
export interface UsedCredential {
  connector: Connector;
  credential: OpenCredential;
}

/** A call that has ended. */
interface EndedCall {
  action?: Action;
  used?: UsedCredential;
  error: GatehouseError | undefined;
  result: { data: Json; pagination?: JsonObject } | undefined;
}

/** Returns what the environment stores of a call, without secrets; undefined for nothing. */
export async function payloadOf(
  policy: PayloadPolicy,
  { environment, input }: { environment: Environment; input: JsonObject },
  { action, used, error, result }: EndedCall,
): Promise<Payload | undefined> {
  const { payloads, payloadDays: days } = await policy(environment);
  if (payloads === 'off' || (payloads !== 'all' && !error)) return undefined;
  // Without an action no schema says which fields are sensitive.
  if (!action) return undefined;
  const secrets = used ? secretValues(used.connector, used.credential) : [];
  const { code = '', message = '', details } = error ?? {};
  if (payloads === 'messages') {
    // A denial is described by its rule, and its message may show the parameters of the call.
    return isDenial(error) ? undefined : { output: stored({ error: message, code }, secrets), days };
  }
  const output = error
    ? { error: message, code, ...(details ? { details: asJson(details) } : {}) }
    : redact({ data: result?.data ?? null, ...pagesOf(result) }, action.outputSchema);
  return {
    input: stored(redact(input, action.inputSchema), secrets),
    output: stored(output, secrets),
    days,
  };
}

function pagesOf(result: EndedCall['result']): JsonObject {
  return result?.pagination ? { pagination: result.pagination } : {};
}

/** Returns a value without secrets; of a long one the beginning of its JSON text, with a note. */
function stored(value: Json, secrets: readonly Secret[]): Json {
  const clean = scrubJson(value, secretsIn(JSON.stringify(value), secrets));
  const bytes = Buffer.from(JSON.stringify(clean), 'utf8');
  if (bytes.length <= MAX_BYTES) return clean;
  const text = bytes
    .subarray(0, MAX_BYTES)
    .toString('utf8')
    .replace(/\uFFFD$/, '');
  return `${text} [cut: ${MAX_BYTES} of ${bytes.length} bytes are stored]`;
}

const payloadShape = z.object({ input: z.json().optional(), output: z.json() });

/** Returns the stored input and output of an execution; an empty object where there is none, or its key is gone. */
export async function findPayload(
  { db, clock, keys, log }: Pick<Base, 'db' | 'clock' | 'keys' | 'log'>,
  executionId: string,
): Promise<{ input?: Json; output?: Json }> {
  const row = await db
    .selectFrom('execution_payloads')
    .select(['execution_id', 'sealed'])
    .where('execution_id', '=', executionId)
    .where('expires_at', '>', clock.now())
    .executeTakeFirst();
  if (!row) return {};
  try {
    return keys.openJson(payloadShape, row.sealed, boundTo('execution_payloads.sealed', row));
  } catch (error) {
    if (!(error instanceof KeyError)) throw error;
    log.error({ err: error, executionId }, 'payload not opened');
    return {};
  }
}
