import type { Call } from './api.ts';
import { createCall } from './service-call.ts';

/** Address of the service: this file is below `{public_url}/connect/assets/…/`. */
export const BASE = new URL('../../..', import.meta.url).href.replace(/\/$/, '');

/** Returns a function that calls with the user's JWT, or without one with this browser's cookie. */
export function caller(token?: () => string): Call {
  return createCall(BASE, token);
}
