import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { VaultSettings } from '../config.ts';
import { GatehouseError, thrownMessage } from '../lib/errors.ts';
import { parseJson } from '../lib/json.ts';
import { createOutbound, type Outbound, type OutboundAnswer } from '../outbound/outbound.ts';
import { SECOND } from '../lib/clock.ts';
import { KeyError } from './key-ring.ts';

const TIMEOUT_MS = 10 * SECOND;
/** Waits before further attempts. A Vault that restarts with the machine is ready within them. */
const RETRY_AFTER_MS = [SECOND, 2 * SECOND, 4 * SECOND, 8 * SECOND];
const MAX_BYTES = 64 * 1024;
/** Characters of Vault's own error that a message repeats. */
const MAX_REASON_CHARS = 200;

/** A key of the transit engine of HashiCorp Vault or OpenBao. The key never leaves Vault, which wraps texts with it. */
export interface Vault {
  /** For people: `transit/gatehouse of https://vault:8200`. */
  readonly name: string;
  /** Wraps a master key in base64. @throws KeyError */
  wrap(key: string): Promise<string>;
  /** Unwraps what wrap() returned. @throws KeyError */
  unwrap(wrapped: string): Promise<string>;
  /** Wraps again with the newest version of the key. The wrapped text stays inside of Vault. @throws KeyError */
  rewrap(wrapped: string): Promise<string>;
}

/** Connects to Vault, and runs `work` with it. `retries` says whether to wait for a Vault that is down, sealed or starting. */
export async function withVault<T>(
  settings: VaultSettings,
  { retries, onRetry = () => {} }: { retries: boolean; onRetry?: (reason: string) => void },
  work: (vault: Vault) => Promise<T>,
): Promise<T> {
  const url = new URL(settings.address);
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  // Vault is inside of the operator's network, so no proxy stands before it.
  const outbound = createOutbound({
    allowedNetworks: [{ kind: 'host', host: url.hostname, port }],
    allowPrivateNetwork: false,
    caFile: settings.caFile,
  });
  try {
    return await work(createVault(settings, { outbound, waits: retries ? RETRY_AFTER_MS : [], onRetry }));
  } finally {
    await outbound.close();
  }
}

interface Client {
  outbound: Outbound;
  waits: readonly number[];
  onRetry: (reason: string) => void;
}

const ciphertext = z.object({ data: z.object({ ciphertext: z.string().startsWith('vault:') }) });
const plaintext = z.object({ data: z.object({ plaintext: z.string() }) });
const granted = z.object({ auth: z.object({ client_token: z.string().min(1) }) });

function createVault(settings: VaultSettings, client: Client): Vault {
  const { mount, key, address } = settings;
  const name = `${mount}/${key} of ${address}`;
  let token: string | undefined;
  const run = async <T>(verb: string, body: object, shape: z.ZodType<T>): Promise<T> => {
    token ??= await tokenOf(settings, client);
    return post(settings, client, { path: `${mount}/${verb}/${key}`, body, token, shape });
  };
  return {
    name,
    wrap: async (text) => (await run('encrypt', { plaintext: text }, ciphertext)).data.ciphertext,
    unwrap: async (text) => (await run('decrypt', { ciphertext: text }, plaintext)).data.plaintext,
    rewrap: async (text) => (await run('rewrap', { ciphertext: text }, ciphertext)).data.ciphertext,
  };
}

async function tokenOf(settings: VaultSettings, client: Client): Promise<string> {
  const { login } = settings;
  if ('token' in login) return login.token;
  if ('tokenFile' in login) {
    try {
      return readFileSync(login.tokenFile, 'utf8').trim();
    } catch (error) {
      throw new KeyError(`Cannot read VAULT_TOKEN_FILE: ${thrownMessage(error)}`, { cause: error });
    }
  }
  const { roleId, secretId, mount } = login;
  const body = { role_id: roleId, secret_id: secretId };
  const { auth } = await post(settings, client, { path: `auth/${mount}/login`, body, shape: granted });
  return auth.client_token;
}

interface Call<T> {
  path: string;
  body: object;
  token?: string;
  shape: z.ZodType<T>;
}

/** Sends a request, and repeats it after temporary failures. @throws KeyError with the reason and a fix. */
async function post<T>(settings: VaultSettings, client: Client, call: Call<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    const result = await sendOnce(settings, client.outbound, call);
    if ('value' in result) return result.value;
    const wait = client.waits[attempt];
    if (!result.isTemporary || wait === undefined) throw new KeyError(result.reason);
    client.onRetry(result.reason);
    await delay(wait);
  }
}

type Result<T> = { value: T } | { reason: string; isTemporary: boolean };

async function sendOnce<T>(settings: VaultSettings, outbound: Outbound, call: Call<T>): Promise<Result<T>> {
  const { address, namespace } = settings;
  let answer: OutboundAnswer;
  try {
    answer = await outbound.request({
      method: 'POST',
      url: `${address}/v1/${call.path}`,
      headers: {
        'content-type': 'application/json',
        'x-vault-request': 'true',
        ...(call.token === undefined ? {} : { 'x-vault-token': call.token }),
        ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace }),
      },
      body: JSON.stringify(call.body),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      followRedirects: true,
    });
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    return { reason: `Vault was not reached: ${error.message} Check VAULT_ADDR.`, isTemporary: true };
  }
  if (answer.status !== 200) return refusalOf(settings, call, answer);
  const parsed = call.shape.safeParse(jsonOf(answer.body));
  if (parsed.success) return { value: parsed.data };
  return { reason: `${address} did not answer as Vault does. Check VAULT_ADDR.`, isTemporary: false };
}

const errors = z.object({ errors: z.array(z.string()) });

/** Returns the reason of a refusal, with the error of Vault and a fix. */
function refusalOf(
  { address, mount, key }: VaultSettings,
  { path }: Pick<Call<unknown>, 'path'>,
  { status, body }: OutboundAnswer,
): { reason: string; isTemporary: boolean } {
  const said = errors.safeParse(jsonOf(body)).data?.errors.join('; ').trim() ?? '';
  const reason = `Vault answered ${path} with ${status}${said === '' ? '' : ` (${said.slice(0, MAX_REASON_CHARS)})`}.`;
  if (status === 503)
    return { reason: `${reason} Vault at ${address} is sealed: unseal it.`, isTemporary: true };
  if (status === 429 || status >= 500) return { reason: `${reason} Try again.`, isTemporary: true };
  if (path.startsWith('auth/'))
    return { reason: `${reason} Check VAULT_ROLE_ID and VAULT_SECRET_ID.`, isTemporary: false };
  if (status === 403) {
    const policy = `a policy with "update" on ${mount}/encrypt/${key}, ${mount}/decrypt/${key} and ${mount}/rewrap/${key}`;
    return { reason: `${reason} The token needs ${policy}, and must not be expired.`, isTemporary: false };
  }
  if (status === 404)
    return {
      reason: `${reason} Enable the engine: vault secrets enable -path=${mount} transit`,
      isTemporary: false,
    };
  return {
    reason: `${reason} Check that the key exists: vault read ${mount}/keys/${key}`,
    isTemporary: false,
  };
}

function jsonOf(body: Buffer): unknown {
  try {
    return parseJson(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
