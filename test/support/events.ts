import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Transaction } from 'kysely';
import { CATALOG_FOLDER } from '../../src/package.ts';
import { publish } from '../../src/outbox/publish.ts';
import type { NewEvent } from '../../src/outbox/event.ts';
import type { Tables } from '../../src/store/schema.ts';
import { startService, type Service, type ServiceOptions } from './service.ts';

let catalog: string | undefined;

/** Returns a catalogue with the sandbox and one app that has all three models, none of them native. */
export const eventsCatalog = (): string => (catalog ??= newCatalog());

function newCatalog(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-events-'));
  mkdirSync(join(folder, 'shop'));
  cpSync(join(CATALOG_FOLDER, 'sandbox'), join(folder, 'sandbox'), { recursive: true });
  const models = ['customers', 'orders', 'products'].map(
    (name) => `  commerce/${name}:
    list: list_things
    get: {action: get_thing, param: id}
    remoteId: id
    map: '{}'`,
  );
  writeFileSync(
    join(folder, 'shop', 'connector.yaml'),
    `id: shop
name: Shop
description: An app of the tests.
categories: [commerce]
website: https://shop.example.com
sources: [{title: The tests themselves, read: 2026-03-01}]
baseUrl: https://api.example.com
authentication:
  - {type: bearer}
paging:
  pages: {style: offset, limitParam: limit, offsetParam: offset}
actions:
  list_things:
    description: Lists things.
    request: GET /things
    paging: pages
  get_thing:
    description: Reads a thing.
    request: GET /things/{id}
    path: {id: {type: string}}
unified:
${models.join('\n')}
`,
  );
  return folder;
}

export interface EventsService extends Service {
  userId: string;
  connectionId: string;
}

/** Starts a service with a user and a connection of the shop. */
export async function startEvents(options: ServiceOptions = {}): Promise<EventsService> {
  const service = await startService({ catalogFolder: eventsCatalog(), ...options });
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const connectionId = (
    await service.call('POST', `/users/${userId}/credentials`, {
      headers: { 'x-svc-userid': userId },
      body: { connectorId: 'shop', data: { token: 'shop_0123456789' } },
    })
  ).text('credentialId');
  return { ...service, userId, connectionId };
}

export interface Subscribed {
  subscriptionId: string;
  secret: string;
}

export async function subscribe(
  service: EventsService,
  body: { address: string; scope?: string; [more: string]: unknown },
): Promise<Subscribed> {
  const answer = await service.call('POST', `/2023-03/one/webhooks?connectionId=${service.connectionId}`, {
    body: { scope: 'commerce/orders', ...body },
  });
  if (answer.status !== 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return { subscriptionId: answer.text('subscriptionId'), secret: answer.text('secret') };
}

/** Records that orders of these ids were created, as polling and intake do when they find them. */
export async function created(
  service: EventsService,
  ids: string[],
  options: {
    event?: NewEvent['event'];
    scope?: NewEvent['eventScope'];
    rollBack?: boolean;
    wake?: boolean;
  } = {},
): Promise<number> {
  const { context } = service;
  const eventScope = options.scope ?? 'commerce/orders';
  const source = await context.db
    .selectFrom('sources')
    .selectAll()
    .where('credential_id', '=', service.connectionId)
    .where('scope', '=', eventScope)
    .executeTakeFirstOrThrow();
  const events = ids.map((id): NewEvent => ({
    eventScope,
    event: options.event ?? 'created',
    recordId: id,
    body: { id, remoteId: id, total: '12.50', currency: 'EUR', note: 'Grüße\r\n🌍' },
  }));
  const write = async (tx: Transaction<Tables>) => {
    const made = await publish(tx, context, {
      source: { sourceId: source.source_id, environment: source.environment },
      events,
    });
    if (options.rollBack) throw new RolledBack();
    return made;
  };
  try {
    const made = await context.db.transaction().execute(write);
    if (options.wake !== false) context.dispatcher.wake();
    return made;
  } catch (error) {
    if (error instanceof RolledBack) return 0;
    throw error;
  }
}

class RolledBack extends Error {}

/**
 * Gives a connection an account key of its own, so that the same account can be connected again; test apps have only
 * one account.
 */
export async function separate({ context }: Pick<Service, 'context'>, credentialId: string): Promise<string> {
  await context.db
    .updateTable('credentials')
    .set({ account_key: credentialId })
    .where('credential_id', '=', credentialId)
    .execute();
  return credentialId;
}
