import type { Call } from './api.ts';

/**
 * Returns a function that calls the service at `base`. It sends the token of the moment, else this browser's cookie.
 */
export function createCall(base: string, token?: () => string): Call {
  return async (method, path, { body, last = false } = {}) => {
    const headers = new Headers();
    if (token) headers.set('Authorization', `Bearer ${token()}`);
    if (method !== 'GET') headers.set('Content-Type', 'application/json');
    if (path.startsWith('/workflows/')) headers.set('x-api-version', '2025-09');
    try {
      const response = await fetch(base + path, {
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
  };
}
