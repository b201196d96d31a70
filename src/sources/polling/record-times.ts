import { SECOND } from '../../lib/clock.ts';
import { valueAt, type Json, type JsonObject } from '../../lib/json.ts';
import { parseTime } from '../../unified/map.ts';
import type { SourceModel } from '../../connectors/source-model.ts';
import type { Source } from '../source.ts';

/* The times of records, and the bounds of lists by them. */

/**
 * Returns the lower bound at which an ordered list continues when the app refuses further pages. Many apps do
 * so beyond some thousand records. The bound is the time of the last record less a second, because some apps
 * treat their bound as exclusive.
 */
export function furtherOn(
  { poll }: SourceModel,
  bound: number | undefined,
  reached: number | null,
): number | undefined {
  // Without a bound, the list action is another one, in an order of its own.
  const isOrdered = poll.order === 'ascending' && !(poll.list !== undefined && bound === undefined);
  if (!isOrdered || poll.since === undefined || reached === null) return undefined;
  const after = reached - SECOND;
  return after > (bound ?? 0) ? after : undefined;
}

/**
 * Returns whether a record existed in this state when the listing began. A record without a time may have.
 */
export function isSettled(model: SourceModel, record: Json, startedAt: number): boolean {
  const at = timeOf(model, record);
  return at === undefined || at <= startedAt;
}

export function boundedInput(model: SourceModel, input: JsonObject, since: number | undefined): JsonObject {
  const { since: parameter, input: more, list } = model.poll;
  if (list !== undefined && since === undefined) return input;
  const bound = parameter !== undefined && since !== undefined ? { [parameter]: boundOf(model, since) } : {};
  return { ...input, ...more, ...bound };
}

/**
 * Returns the lower bound in the app's format. Coarser formats are rounded down, so that no record is cut
 * off.
 */
function boundOf(model: SourceModel, since: number): string | number {
  const format = model.poll.sinceFormat ?? model.timeFormat;
  const text =
    format === 'seconds'
      ? Math.floor(since / 1000)
      : format === 'milliseconds'
        ? since
        : format === 'date'
          ? new Date(since).toISOString().slice(0, 10)
          : format === 'utc'
            ? new Date(since).toISOString().slice(0, 19)
            : new Date(Math.floor(since / 1000) * 1000).toISOString();
  const { sinceTemplate } = model.poll;
  return sinceTemplate === undefined ? text : sinceTemplate.replaceAll('{since}', String(text));
}

/** Returns the time of a record by which changes are found. */
export function timeOf(model: SourceModel, record: Json): number | undefined {
  const path = model.poll.by === 'createdAt' ? model.createdAt : (model.updatedAt ?? model.createdAt);
  return path === undefined ? undefined : parseTime(valueAt(record, path), model.timeFormat);
}

/**
 * Returns when collecting began, by the app's clock. The app may have been down since. It is a whole second and at
 * most two early, because Date headers, and the times of many records, have whole seconds. A record of these seconds
 * may then count as new, but no new record is left out.
 */
export function beganAt(
  { createdAt }: Source,
  { appTime, aheadMs }: { appTime: number; aheadMs: number },
): number {
  return Math.floor(Math.min(appTime, createdAt + aheadMs) / SECOND) * SECOND;
}

/**
 * Returns the time from which the first listing saw all records; undefined where records have a time of
 * change. A checkout, for example, is listed only once it is done.
 */
export function knownFrom(
  { updatedAt, poll }: SourceModel,
  { since }: { since?: number | undefined },
  baselineAt: number,
): number | undefined {
  if (updatedAt !== undefined) return undefined;
  return since === undefined ? 0 : baselineAt - poll.overlapSeconds * SECOND;
}
