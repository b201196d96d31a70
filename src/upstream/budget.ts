import type { Budget } from '../connectors/format/limits-format.ts';
import { SECOND } from '../lib/clock.ts';
import { valueAt, type Json } from '../lib/json.ts';

interface Answer {
  headers: Readonly<Record<string, string>>;
  body?: Json | undefined;
}

/** The points that an answer reported as left. */
export interface Points {
  left: number;
  /** Time of the answer, epoch ms. */
  at: number;
  /** Points that come back in a millisecond; 0 when unknown. */
  perMs: number;
  /** When all points come back, epoch ms; undefined when unknown. */
  resetAt: number | undefined;
}

/** Returns the points that an answer reports; undefined when it reports none. */
export function pointsIn(budget: Budget, answer: Answer, now: number): Points | undefined {
  const left = numberAt(budget.remaining, answer);
  if (left === undefined) return undefined;
  const rate = budget.restorePerSecond;
  const perSecond = typeof rate === 'string' ? (numberAt(rate, answer) ?? 0) : (rate ?? 0);
  return { left, at: now, perMs: Math.max(0, perSecond) / SECOND, resetAt: resetIn(budget, answer, now) };
}

/** Returns the cost that an answer reports for its call. */
export function costIn({ cost }: Budget, answer: Answer): number | undefined {
  return cost === undefined ? undefined : numberAt(cost, answer);
}

/** Returns the milliseconds until `needed` points are left; 0 if it is unknown when points come back. */
export function waitForPoints({ left, at, perMs, resetAt }: Points, needed: number, now: number): number {
  const lack = needed - left - perMs * (now - at);
  if (lack <= 0) return 0;
  const restoredMs = perMs > 0 ? lack / perMs : undefined;
  const resetMs = resetAt === undefined ? undefined : resetAt - now;
  if (restoredMs === undefined && resetMs === undefined) return 0;
  return Math.max(0, Math.ceil(Math.min(restoredMs ?? Infinity, resetMs ?? Infinity)));
}

function resetIn({ reset }: Budget, answer: Answer, now: number): number | undefined {
  if (reset === undefined) return undefined;
  const value = textAt(reset, answer);
  const number = Number(value);
  if (value === undefined || value === '') return undefined;
  if (!Number.isFinite(number)) return Number.isNaN(Date.parse(value)) ? undefined : Date.parse(value);
  // No app resets in ten years, so such a number is a point in time.
  if (number > 1e11) return number;
  return number > 1e9 ? number * SECOND : now + number * SECOND;
}

function numberAt(place: string, answer: Answer): number | undefined {
  const text = textAt(place, answer);
  const number = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : undefined;
}

function textAt(place: string, { headers, body }: Answer): string | undefined {
  const where = place.slice(place.indexOf(':') + 1);
  if (place.startsWith('header:')) return headers[where.toLowerCase()];
  const value = valueAt(body, where);
  return typeof value === 'number' || typeof value === 'string' ? String(value) : undefined;
}
