import { createHash, createHmac } from 'node:crypto';
import type { Sign } from '../connectors/format/format.ts';
import { fillTemplate } from '../connectors/templates.ts';
import { headerValue, type Draft } from './request-draft.ts';
import { percentEncoded } from './values.ts';

type Filled = (template: string | undefined) => string;

/** Headers that are signed besides `x-amz-…`. Proxies may change others. */
const SIGNED = new Set(['host', 'content-type', 'content-md5', 'range']);
const ALGORITHM = 'AWS4-HMAC-SHA256';

/**
 * Signs a request with AWS Signature Version 4. Path and query are first written as the service canonicalises them.
 * Returns the signature.
 */
export function signAws(
  draft: Draft,
  sign: Extract<Sign, { type: 'aws_sigv4' }>,
  { value, now }: { value: (name: string) => string; now: number },
): string[] {
  const filled: Filled = (template) => (template === undefined ? '' : fillTemplate(template, value));
  const service = filled(sign.service);
  const { headers, address } = draft;
  const content = draft.body?.content() ?? '';
  const bodyHash = sha256(content);
  // The signed content must be sent unchanged.
  if (draft.body) {
    draft.body.content = () => content;
    headers['content-type'] ??= draft.body.contentType;
  }
  const time = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  headers['x-amz-date'] = time;
  if (service === 's3') headers['x-amz-content-sha256'] = bodyHash;
  const sessionToken = filled(sign.sessionToken);
  if (sessionToken !== '') headers['x-amz-security-token'] = headerValue('sessionToken', sessionToken);
  address.path = mapSegments(address.path, (segment) => percentEncoded(decodeURIComponent(segment)));
  address.query = canonicalQuery(address.query);

  const signed = Object.entries({ ...headers, host: address.host })
    .filter(([name]) => name.startsWith('x-amz-') || SIGNED.has(name))
    .sort(byName);
  const names = signed.map(([name]) => name).join(';');
  const canonical = [
    draft.method,
    // S3 takes the path as it is; other services encode it again.
    service === 's3' ? address.path : mapSegments(address.path, percentEncoded),
    address.query,
    ...signed.map(([name, text]) => `${name}:${text.trim().replaceAll(/ +/g, ' ')}`),
    '',
    names,
    bodyHash,
  ].join('\n');
  const scope = [time.slice(0, 8), filled(sign.region), service, 'aws4_request'];
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${filled(sign.secretAccessKey)}`);
  const signature = hmac(key, [ALGORITHM, time, scope.join('/'), sha256(canonical)].join('\n')).toString(
    'hex',
  );
  const credential = `${filled(sign.accessKeyId)}/${scope.join('/')}`;
  headers['authorization'] = headerValue(
    'authorization',
    `${ALGORITHM} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`,
  );
  return [signature];
}

function canonicalQuery(query: string): string {
  return [...new URLSearchParams(query)]
    .map(([name, text]): [string, string] => [percentEncoded(name), percentEncoded(text)])
    .sort(byName)
    .map((pair) => pair.join('='))
    .join('&');
}

function mapSegments(path: string, map: (segment: string) => string): string {
  return path.split('/').map(map).join('/');
}

/** Orders by name, then by value, in code units. */
function byName([a, x]: [string, string], [b, y]: [string, string]): number {
  if (a !== b) return a < b ? -1 : 1;
  return x < y ? -1 : x > y ? 1 : 0;
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
