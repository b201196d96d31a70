import type { Connector } from '../connectors/catalog.ts';
import type { Webhooks } from '../connectors/events-format.ts';
import type { Context } from '../context.ts';
import { hashToken } from '../crypto/tokens.ts';
import type { Credential } from '../credentials/credential.ts';
import { findConnection } from '../credentials/records.ts';
import { GatehouseError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { listenedAnew } from './audience.ts';
import { eventsIn } from './hook-events.ts';
import { keysOf } from './hook-keys.ts';
import { openHook } from './hook.ts';
import { toSource, type Source } from './source.ts';
import { isGenuine, textAt, type HookRequest } from './verify.ts';

type IntakeContext = Pick<Context, 'db' | 'clock' | 'log' | 'keys' | 'hashKey' | 'catalog' | 'sources'>;

/** The answer to an app. */
export interface Accepted {
  status: number;
  body: string;
  contentType: string;
}

/** Whose webhook is expected at an address. */
export interface ExpectedHook {
  source: Source;
  connector: Connector;
  webhooks: Webhooks;
}

/**
 * Who is known by an unguessable path, which is found out before anything of a body is read.
 * @throws GatehouseError `not_found` for an unknown one.
 */
export async function expectHook(
  context: IntakeContext,
  connectorId: string,
  token: string,
): Promise<ExpectedHook> {
  const row = await context.db
    .selectFrom('sources')
    .selectAll()
    .where('hook_hash', '=', hashToken(context.hashKey, token))
    .executeTakeFirst();
  const source = row && toSource(row);
  const connector = source && context.catalog.connector(source.environment, connectorId);
  const webhooks = connector?.definition.webhooks;
  if (
    !source ||
    source.connectorId !== connectorId ||
    !connector ||
    !webhooks ||
    source.status === 'ending'
  ) {
    throw new GatehouseError('not_found', 'No webhook is expected at this address.');
  }
  return { source, connector, webhooks };
}

/**
 * Takes a webhook of an app: verified by the scheme of its file, stored once by the app's event id, and answered only
 * after the commit. What it means is found out afterwards.
 * @throws GatehouseError `unauthorized` for a signature that is not right, `invalid_request` for a body that holds no event,
 * `unavailable` when another account took the place while it came.
 */
export async function acceptHook(
  context: IntakeContext,
  { source, connector, webhooks }: ExpectedHook,
  request: HookRequest,
): Promise<Accepted> {
  const { challenge } = webhooks;
  const asked = challenge?.method === request.method ? textAt(request, challenge.value) : undefined;
  if (challenge && asked !== undefined) {
    return challenge.as === 'text'
      ? { status: 200, body: asked.slice(0, 1000), contentType: 'text/plain; charset=utf-8' }
      : {
          status: 200,
          body: JSON.stringify({ [challenge.member]: asked.slice(0, 1000) }),
          contentType: 'application/json',
        };
  }
  const credential = await findConnection(context.db, source.environment, source.credentialId);
  const value = await secretsOf(context, source, connector, credential);
  if (!isGenuine(webhooks.verify, request, value, context.clock.now())) {
    throw new GatehouseError('unauthorized', 'The signature of this webhook is not right.');
  }
  await store(context, source, webhooks, request, credential?.account?.id);
  context.sources.wake();
  return { status: 200, body: '{"received":true}', contentType: 'application/json' };
}

/** What the templates of a scheme may name, opened for this check alone. */
async function secretsOf(
  context: IntakeContext,
  source: Source,
  connector: Connector,
  credential: Credential | undefined,
): Promise<(name: string) => string | undefined> {
  const known = credential ? await keysOf(context, connector, credential) : () => undefined;
  const secret = openHook(context, source)?.secret;
  return (name) => (name === 'secret' ? secret : known(name));
}

async function store(
  context: IntakeContext,
  source: Source,
  webhooks: Webhooks,
  request: HookRequest,
  account: string | undefined,
): Promise<void> {
  const now = context.clock.now();
  const rows = eventsIn(webhooks, request, account).map(({ topic, dedupeKey, body }) => ({
    inbox_id: newId('inb'),
    source_id: source.sourceId,
    dedupe_key: dedupeKey,
    topic,
    body: JSON.stringify(body),
    received_at: now,
    next_at: now,
  }));
  if (rows.length === 0) return;
  await context.db.transaction().execute(async (tx) => {
    // Not held: an app waits for its answer, and polls hold a source for long. A job empties the rest (accounts.ts).
    const same = await tx
      .selectFrom('sources')
      .select('source_id')
      .where('source_id', '=', source.sourceId)
      .where('created_at', '=', source.createdAt)
      .executeTakeFirst();
    if (!same) throw listenedAnew();
    await tx
      .insertInto('inbox')
      .values(rows)
      .onConflict((c) => c.columns(['source_id', 'dedupe_key']).doNothing())
      .execute();
  });
}
