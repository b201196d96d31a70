import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** A server with the wire of the transit engine and of AppRole, as HashiCorp Vault and OpenBao document them. */
export interface FakeVault extends AsyncDisposable {
  readonly address: string;
  /** Variables that use it, with a token. */
  readonly env: Record<string, string>;
  readonly token: string;
  readonly roleId: string;
  readonly secretId: string;
  /** Paths of the requests so far. */
  readonly paths: string[];
  /** Versions of the key, oldest first. `rotate` adds one. */
  readonly versions: Buffer[];
  rotate(): void;
  isSealed: boolean;
  /** Requests to answer with 503 before the next good answer. */
  busyFor: number;
  /** Whether the policy of the token lacks the key. */
  isDenied: boolean;
  /** Namespace that requests must name; undefined for none. */
  namespace: string | undefined;
}

const KEY_PATH = /^\/v1\/(transit)\/(encrypt|decrypt|rewrap)\/(\w+)$/;

export async function startVault(): Promise<FakeVault> {
  const server = createServer((req, res) => void answer(vault, req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const at = server.address();
  if (at === null || typeof at === 'string') throw new Error('no port');
  const address = `http://127.0.0.1:${at.port}`;
  const token = `hvs.${randomBytes(12).toString('hex')}`;
  const vault: FakeVault = {
    address,
    token,
    env: { GATEHOUSE_MASTER_KEY: 'vault:transit/gatehouse', VAULT_ADDR: address, VAULT_TOKEN: token },
    roleId: randomBytes(8).toString('hex'),
    secretId: randomBytes(8).toString('hex'),
    paths: [],
    versions: [randomBytes(32)],
    rotate: () => void vault.versions.push(randomBytes(32)),
    isSealed: false,
    busyFor: 0,
    isDenied: false,
    namespace: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return vault;
}

async function answer(vault: FakeVault, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const path = req.url ?? '';
  vault.paths.push(path);
  const send = (status: number, body: object): void => {
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const refuse = (status: number, ...errors: string[]): void => send(status, { errors });
  const body: Record<string, unknown> = JSON.parse((await buffer(req)).toString('utf8'));
  if (vault.isSealed || vault.busyFor-- > 0) return refuse(503, 'Vault is sealed');
  if (req.headers['x-vault-namespace'] !== vault.namespace) return refuse(403, 'permission denied');
  if (path === '/v1/auth/approle/login') {
    const isKnown = body['role_id'] === vault.roleId && body['secret_id'] === vault.secretId;
    return isKnown
      ? send(200, { auth: { client_token: vault.token } })
      : refuse(400, 'invalid role or secret ID');
  }
  if (req.headers['x-vault-token'] !== vault.token || vault.isDenied)
    return refuse(403, '1 error occurred:\n\t* permission denied\n\n');
  const [, mount, verb, key] = KEY_PATH.exec(path) ?? [];
  if (mount === undefined) return refuse(404, `no handler for route "${path.slice(4)}"`);
  if (key !== 'gatehouse') return refuse(400, 'encryption key not found');
  const latest = vault.versions.length;
  try {
    const plain =
      verb === 'encrypt' ? String(body['plaintext']) : open(vault.versions, String(body['ciphertext']));
    send(200, {
      data:
        verb === 'decrypt'
          ? { plaintext: plain }
          : { ciphertext: seal(vault.versions, plain), key_version: latest },
    });
  } catch {
    refuse(400, 'invalid ciphertext: unable to decrypt');
  }
}

function seal(versions: readonly Buffer[], text: string): string {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', versions.at(-1) ?? '', iv);
  const bytes = Buffer.concat([iv, cipher.update(text, 'base64'), cipher.final(), cipher.getAuthTag()]);
  return `vault:v${versions.length}:${bytes.toString('base64')}`;
}

function open(versions: readonly Buffer[], text: string): string {
  const [, version = '', body = ''] = /^vault:v(\d+):(.+)$/.exec(text) ?? [];
  const bytes = Buffer.from(body, 'base64');
  const decipher = createDecipheriv(
    'aes-256-gcm',
    versions[Number(version) - 1] ?? '',
    bytes.subarray(0, 12),
    {
      authTagLength: 16,
    },
  ).setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]).toString('base64');
}
