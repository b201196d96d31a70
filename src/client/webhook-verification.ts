/* Verification of deliveries (docs/webhooks.md, Verify). WebCrypto alone, so that it runs in Node.js and at the edge. */

const PREFIX = 'whsec_';
const VERSION = 'v1,';
const TOLERANCE_SECONDS = 300;
const ALGORITHM = { name: 'HMAC', hash: 'SHA-256' };

/** The request of a delivery, as a receiver gets it. */
export interface WebhookRequest {
  /** The raw body, before it is parsed. */
  body: string | Uint8Array;
  /** `Headers` of the fetch standard, or an object as Node.js has it. */
  headers: HeaderReader | Readonly<Record<string, string | readonly string[] | undefined>>;
}

interface HeaderReader {
  get(name: string): string | null;
}

export interface VerifyOptions {
  /** Secret of the subscription: `whsec_…`. Several while a receiver serves several subscriptions. */
  secret: string | readonly string[];
  /** Largest difference between the signed time and now, in seconds. Default: 300. */
  toleranceSeconds?: number;
  /** The time, in epoch milliseconds. Default: now. */
  now?: number;
}

/** A genuine delivery. */
export interface WebhookDelivery<T = unknown> {
  /** The same on every attempt. Store the ids that you have processed. */
  id: string;
  /** Time of this attempt. */
  sentAt: Date;
  /** `created`, `updated`, `deleted`, or `test`; undefined for events of the environment itself. */
  event: string | undefined;
  /** The kind of record, such as `commerce/orders`. */
  scope: string | undefined;
  /** Rises by one with each delivery of the subscription. */
  sequence: number | undefined;
  connectionId: string | undefined;
  subscriptionId: string | undefined;
  /** Whether it is a test event. */
  test: boolean;
  /** The parsed body. */
  record: T;
}

/** The reason that a request is no genuine delivery. */
export type WebhookFault =
  | 'header_missing'
  | 'timestamp_invalid'
  | 'too_old'
  | 'too_new'
  | 'signature_wrong'
  | 'body_invalid';

/** The error of a request that is no genuine delivery. Answer it with 401. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  readonly code: WebhookFault;

  constructor(code: WebhookFault, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Checks that Gatehouse sent a request, and returns its delivery. The comparison of signatures takes the same time for
 * every signature.
 * @throws WebhookError for every other request; TypeError for a secret that is none.
 */
export async function verifyWebhook<T = unknown>(
  { body, headers }: WebhookRequest,
  { secret, toleranceSeconds = TOLERANCE_SECONDS, now = Date.now() }: VerifyOptions,
): Promise<WebhookDelivery<T>> {
  const header = (name: string): string | undefined => headerOf(headers, name);
  const id = required(header('webhook-id'), 'webhook-id');
  const timestamp = required(header('webhook-timestamp'), 'webhook-timestamp');
  const signatures = required(header('webhook-signature'), 'webhook-signature').split(' ');
  const sentAt = timeOf(timestamp, { toleranceSeconds, now });
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const content = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  if (!(await isSigned(content, signatures, [secret].flat())))
    throw new WebhookError(
      'signature_wrong',
      'No signature of webhook-signature is one of the secret over this raw body.',
    );
  const sequence = header('x-svc-sequence');
  return {
    id,
    sentAt,
    event: header('x-svc-event'),
    scope: header('x-svc-scope'),
    sequence: sequence === undefined ? undefined : Number(sequence),
    connectionId: header('x-svc-connection-id'),
    subscriptionId: header('x-svc-subscription-id'),
    test: header('x-svc-test') === 'true',
    record: parsed(bytes),
  };
}

function headerOf(headers: WebhookRequest['headers'], name: string): string | undefined {
  if (isReader(headers)) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([one]) => one.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : found?.[0];
}

function isReader(headers: WebhookRequest['headers']): headers is HeaderReader {
  return typeof Reflect.get(headers, 'get') === 'function';
}

function required(value: string | undefined, name: string): string {
  if (value !== undefined && value !== '') return value;
  throw new WebhookError('header_missing', `The header ${name} is missing.`);
}

function timeOf(text: string, { toleranceSeconds, now }: { toleranceSeconds: number; now: number }): Date {
  if (!/^\d{1,12}$/.test(text))
    throw new WebhookError('timestamp_invalid', 'The header webhook-timestamp is no time in seconds.');
  const ahead = Number(text) - now / 1000;
  if (ahead > toleranceSeconds)
    throw new WebhookError('too_new', 'The signed time lies ahead. Check the clock of this machine.');
  if (ahead < -toleranceSeconds)
    throw new WebhookError(
      'too_old',
      'The signed time is too long ago: an old request, or a clock of this machine that is ahead.',
    );
  return new Date(Number(text) * 1000);
}

/** Returns whether one of the signatures is one of a secret. After a rotation a delivery has a signature of each. */
async function isSigned(
  content: Uint8Array<ArrayBuffer>,
  signatures: string[],
  secrets: readonly string[],
): Promise<boolean> {
  const keys = await Promise.all(secrets.map(keyOf));
  const sent = signatures
    .filter((one) => one.startsWith(VERSION))
    .map((one) => bytesOf(one.slice(VERSION.length)))
    .filter((bytes) => bytes !== undefined);
  const checks = keys.flatMap((key) =>
    sent.map((signature) => crypto.subtle.verify(ALGORITHM, key, signature, content)),
  );
  return (await Promise.all(checks)).includes(true);
}

function keyOf(secret: string) {
  const bytes = secret.startsWith(PREFIX) ? bytesOf(secret.slice(PREFIX.length)) : undefined;
  if (bytes === undefined || bytes.length === 0)
    throw new TypeError('verifyWebhook: secret must be the secret of a subscription: whsec_ and base64.');
  return crypto.subtle.importKey('raw', bytes, ALGORITHM, false, ['verify']);
}

/** Returns the bytes of a text in base64; undefined for any other text. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function joined(head: Uint8Array, tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(head.length + tail.length);
  all.set(head);
  all.set(tail, head.length);
  return all;
}

function parsed<T>(bytes: Uint8Array): T {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new WebhookError('body_invalid', 'The body is genuine, but it is not JSON.');
  }
}
