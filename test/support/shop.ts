import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startService, type Answer, type CallOptions, type Service, type ServiceOptions } from './service.ts';
import { GOOD_KEY, LINKED, OPEN, SHOP, startThirdParty, type ThirdParty } from './third-party.ts';

/** A service with the connectors of the tests, a third party, a user, and a credential of `shop`. */
export interface Shop extends AsyncDisposable {
  readonly service: Service;
  readonly party: ThirdParty;
  readonly userId: string;
  readonly credentialId: string;
  /** The folder of its connectors. */
  readonly catalogFolder: string;
  /** Calls REST as this user. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Runs an action of `shop`. */
  execute(actionId: string, input?: object): Promise<Answer>;
}

/** Starts a shop. `files`: connector files by id, in addition to `shop`, `linked` and `open`. */
export async function startShop(
  options: Omit<ServiceOptions, 'catalogFolder'> = {},
  files: Record<string, string> = {},
): Promise<Shop> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-connectors-'));
  for (const [id, text] of Object.entries({ shop: SHOP, linked: LINKED, open: OPEN, ...files })) {
    mkdirSync(join(folder, id));
    writeFileSync(join(folder, id, 'connector.yaml'), text);
  }
  const party = await startThirdParty();
  const service = await startService({ ...options, catalogFolder: folder });
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const call: Shop['call'] = (method, path, more = {}) =>
    service.call(method, path, { ...more, headers: { 'x-svc-userid': userId, ...more.headers } });
  const made = await call('POST', `/users/${userId}/credentials`, {
    body: { connectorId: 'shop', data: { apiKey: GOOD_KEY, origin: party.origin } },
  });
  return {
    service,
    party,
    userId,
    credentialId: made.text('credentialId'),
    catalogFolder: folder,
    call,
    execute: (actionId, input = {}) =>
      call('POST', `/connectors/shop/actions/${actionId}/execute`, { body: { input } }),
    async [Symbol.asyncDispose]() {
      await service.stop();
      await party[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Returns a connector file of an app whose address the user enters. `rest`: its own part, from `actions` on. */
export function appFile(id: string, rest: string): string {
  return `
id: ${id}
name: ${id.charAt(0).toUpperCase()}${id.slice(1)}
description: An app of the tests.
categories: [data]
website: https://${id}.example.com
sources: [{title: The tests themselves, read: 2026-03-01}]
baseUrl: '{origin}'
variables:
  origin: {title: Address, format: origin, example: https://${id}.example.com}
authentication: [{type: api_key, in: header, name: X-Key}]
${rest}`;
}
