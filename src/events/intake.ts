import type { Connector } from '../connectors/catalog.ts';
import type { Context } from '../context.ts';
import { hashToken } from '../crypto/tokens.ts';
import { sha256 } from '../crypto/key-ring.ts';
import { findOAuthApp } from '../credentials/oauth-apps.ts';
import { openValues } from '../credentials/open.ts';
import { findConnection } from '../credentials/records.ts';
import { GatehouseError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { valueAt, type Json } from '../lib/json.ts';
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

/** Events of one webhook; more are refused before anything is stored. */
const MAX_EVENTS = 1000;

/**
 * Takes a webhook of an app: known by its unguessable path, verified by the scheme of its file, stored once by the
 * app's event id, and answered only after the commit. What it means is found out afterwards.
 * @throws GatehouseError `not_found` for an unknown path, `unauthorized` for a signature that is not right,
 * `invalid_request` for a body that holds no event.
 */
export async function acceptHook(
  context: IntakeContext,
  connectorId: string,
  token: string,
  request: HookRequest,
): Promise<Accepted> {
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
  const value = await secretsOf(context, source, connector);
  if (!isGenuine(webhooks.verify, request, value, context.clock.now())) {
    throw new GatehouseError('unauthorized', 'The signature of this webhook is not right.');
  }
  await store(context, source, connector, request);
  context.sources.wake();
  return { status: 200, body: '{"received":true}', contentType: 'application/json' };
}

/** What the templates of a scheme may name, opened for this check alone. */
async function secretsOf(
  context: IntakeContext,
  source: Source,
  connector: Connector,
): Promise<(name: string) => string | undefined> {
  const credential = await findConnection(context.db, source.environment, source.credentialId);
  const values = credential ? openValues(context, credential) : {};
  const app = await findOAuthApp(context, source.environment, connector.connectorId);
  const more = { secret: openHook(context, source)?.secret, clientSecret: app?.clientSecret?.open() };
  return (name) => (name === 'secret' || name === 'clientSecret' ? more[name] : values[name]);
}

async function store(
  context: IntakeContext,
  source: Source,
  connector: Connector,
  request: HookRequest,
): Promise<void> {
  const { webhooks } = connector.definition;
  if (!webhooks) return;
  const listed = webhooks.events === undefined ? undefined : valueAt(request.body, webhooks.events);
  const bodies: Json[] = webhooks.events === undefined ? [request.body] : Array.isArray(listed) ? listed : [];
  if (bodies.length > MAX_EVENTS) {
    throw new GatehouseError('invalid_request', `A webhook may hold at most ${MAX_EVENTS} events.`);
  }
  const now = context.clock.now();
  const rows = bodies.map((body) => {
    const event = { header: request.header, query: request.query, body };
    const topic = textAt(event, webhooks.topic) ?? textAt(request, webhooks.topic) ?? '';
    const named = webhooks.eventId === undefined ? undefined : textAt(event, webhooks.eventId);
    return {
      inbox_id: newId('inb'),
      source_id: source.sourceId,
      // Two topics of one app may share the id of what happened.
      dedupe_key: `${topic}|${named ?? sha256(JSON.stringify(body))}`.slice(0, 500),
      topic: topic.slice(0, 200),
      body: JSON.stringify(body),
      received_at: now,
      next_at: now,
    };
  });
  if (rows.length === 0) return;
  await context.db
    .insertInto('inbox')
    .values(rows)
    .onConflict((c) => c.columns(['source_id', 'dedupe_key']).doNothing())
    .execute();
}
