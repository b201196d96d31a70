import { asObject } from '../lib/json.ts';
import { idOf, USERS } from './record-kinds.ts';
import type { Service } from './service.ts';
import { shortTime, textOf } from './table.ts';

/** Runs `gatehouse connect`: prints the link by which a person connects an account of an app for a user. */
export async function connectAccount(
  service: Service,
  { user, connectorId, json }: { user: string; connectorId: string; json: boolean },
): Promise<number> {
  const userId = await idOf(service, USERS, user);
  const made = asObject(
    await service.request({
      method: 'POST',
      path: `/users/${encodeURIComponent(userId)}/connect-sessions`,
      body: { connectors: [connectorId] },
    }),
  );
  process.stdout.write(json ? `${JSON.stringify(made)}\n` : `${textOf(made['url'])}\n`);
  process.stderr.write(`Opens once, until ${shortTime(made['expiresAt'])}. It belongs to the user alone.\n`);
  return 0;
}
