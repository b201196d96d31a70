import type { AnyRequest } from '../client/operation-types.ts';
import type { Answer, Call } from './api.ts';

/**
 * Returns a function that calls the service at `base`. It sends the token of the moment, else this browser's cookie.
 */
export function createCall(base: string, token?: () => string): Call {
  return (method, path, ...[request]) => send({ base, token, method, path }, request);
}

interface Target {
  base: string;
  token: (() => string) | undefined;
  method: string;
  path: string;
}

async function send<Value>(
  { base, token, method, path }: Target,
  { body, last = false, ...parameters }: AnyRequest & { last?: boolean } = {},
): Promise<Answer<Value>> {
  const headers = new Headers();
  if (token) headers.set('Authorization', `Bearer ${token()}`);
  if (method !== 'GET') headers.set('Content-Type', 'application/json');
  if (path.startsWith('/workflows/')) headers.set('x-api-version', '2025-09');
  try {
    const response = await fetch(base + addressOf(path, parameters), {
      method,
      headers,
      ...(method !== 'GET' ? { body: JSON.stringify(body ?? {}) } : {}),
      // `keepalive` sends the last request of a page that goes away.
      keepalive: last,
    });
    const answer = await response.json();
    if (response.ok) return { ok: true, value: answer };
    return {
      ok: false,
      problem: {
        code: answer.code,
        message: answer.error,
        faults: answer.details?.faults ?? [],
        appText: answer.details?.message,
      },
    };
  } catch {
    const message = `${base || 'The service'} did not answer as a Gatehouse. Check the address, the network, and the origins that the environment allows.`;
    return { ok: false, problem: { code: 'unreachable', message, faults: [] } };
  }
}

/** Returns the address of a request, with its parameters. Its query has no undefined values. */
function addressOf(template: string, { path = {}, query = {} }: AnyRequest): string {
  const address = template.replaceAll(/{(\w+)}/g, (_, name) => encodeURIComponent(String(path[name])));
  const values = Object.entries(query).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(values.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? address : `${address}?${text}`;
}
