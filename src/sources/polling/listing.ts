import type { Connector } from '../../connectors/catalog.ts';
import type { UnifiedModel } from '../../connectors/events-format.ts';
import { readPage, type ListSource } from '../../actions/pages.ts';
import type { Position, Positions } from '../../actions/positions.ts';
import { listSource } from '../../actions/results.ts';
import { sha256 } from '../../crypto/key-ring.ts';
import { DAY, MINUTE, SECOND, parseHttpDate } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { MIB } from '../../lib/http-body.ts';
import { canonicalJson, memoryOf, valueAt, type Json, type JsonObject } from '../../lib/json.ts';
import type { UpstreamContext } from '../../upstream/call.ts';
import type { OpenCredential } from '../../upstream/credential.ts';
import { listInputs } from '../../unified/inputs.ts';
import { parseTime } from '../../unified/map.ts';
import type { Continuation } from '../source.ts';

/** Upstream pages of one round; what is left goes on in the next. */
const MAX_PAGES = 40;
/** What a round keeps in memory, more or less: it ends with the page that goes beyond. */
const MAX_HELD = 64 * MIB;
/** A list whose pages shift while it is read is read again until nothing new turns up. */
const MAX_PASSES = 4;
const PAGE_RECORDS = 250;
/** Milliseconds that all passes of a round may take. The next round continues, so that progress is stored. */
const ROUND_MS = 2 * MINUTE;

/** What a round read of a list. Times are epoch milliseconds on the app's clock. */
export interface Pass {
  /** Records by their id at the app, in the order in which they were met; of one met twice the last state. */
  records: Map<string, Json>;
  /** The app's time when the reading began, or an earlier one where that is in doubt: what changed until then was read. */
  startedAt: number;
  /** The app's time when the round began, by its Date header; ours where it has none that can be believed. */
  appTime: number;
  /** So much is the app's clock ahead of ours, or a little less: its answer was under way. */
  aheadMs: number;
  /** Where to go on, when not everything could be read; undefined when everything was. */
  continuation: Continuation | undefined;
  /** Where to begin once more if a pass of several rounds, which this one ended, brought something new. */
  again: Continuation | undefined;
  /** The list kept changing under the reading: something may have slipped between two pages. */
  unstable: boolean;
  /** The app refused to go on in the middle of the list, again and again: what it said. */
  refusal: GatehouseError | undefined;
  /** Records that have no id. */
  unreadable: Unreadable[];
}

/** A record that cannot be told, and why. */
export interface Unreadable {
  record: Json;
  reason: string;
}

export interface PassWish {
  connector: Connector;
  credential: OpenCredential;
  model: UnifiedModel;
  /** Read what is of this time or later; undefined: everything. */
  since: number | undefined;
  /** An interrupted reading that goes on. */
  from?: Continuation | undefined;
  now: number;
  signal?: AbortSignal | undefined;
}

/**
 * Reads the records of a model since a time. Several pages of a list that is cut by numbers shift when a record before
 * them goes or moves, and one can then fall between two pages: such a list is read again until a pass brings nothing
 * new. Where a pass takes several rounds, the caller knows what is new: see `nextRound`.
 * @throws GatehouseError as callUpstream and interpretAnswer.
 */
export async function readSince(context: UpstreamContext, wish: PassWish): Promise<Pass> {
  const { from } = wish;
  const records = new Map<string, Json>();
  const reading: Reading = {
    context,
    wish,
    records,
    unreadable: [],
    began: performance.now(),
    date: undefined,
    datedAt: wish.now,
  };
  const inputs = await listInputs(wish.model, wish.credential, (actionId) => readWhole(reading, actionId));
  const groups = sha256(canonicalJson(inputs));
  const isWhereItWas = from === undefined || from.groups === groups;
  const first = isWhereItWas ? await readOnce(reading, inputs, from) : undefined;
  const startedAt = from?.until ?? readUntil(reading);
  const done: Pass = {
    records,
    startedAt,
    appTime: appTimeOf(reading),
    aheadMs: isBelieved(reading) ? (reading.date ?? 0) - reading.datedAt : 0,
    continuation: undefined,
    again: undefined,
    unstable: false,
    refusal: undefined,
    unreadable: reading.unreadable,
  };
  // The app dropped the cursor that was to go on, or the record that it named, or has other lists by now.
  if (!first || first.refusal) {
    const before = from ?? { since: wish.since ?? null, until: startedAt, pass: 1 };
    return before.pass < MAX_PASSES
      ? { ...done, continuation: startOver(before, groups) }
      : { ...done, unstable: true, refusal: first?.refusal };
  }
  if (first.isStuck) return { ...done, unstable: true };
  if (first.stoppedAt) {
    const { pass = 1, isFruitful = true } = from ?? {};
    return { ...done, continuation: { ...first.stoppedAt, groups, until: startedAt, pass, isFruitful } };
  }
  if (first.paging !== 'offset' && first.paging !== 'page') return done;
  if (from) return { ...done, again: startOver(from, groups) };
  // An unordered or descending list of one page is one answer, which is consistent in itself.
  if (first.pages < 2) return done;
  for (let pass = 2; pass <= MAX_PASSES; pass++) {
    const { stoppedAt, isFruitful, isStuck } = await readOnce(reading, inputs, undefined);
    if (isStuck) break;
    if (stoppedAt)
      return { ...done, continuation: { ...stoppedAt, groups, until: startedAt, pass, isFruitful } };
    if (!isFruitful) return done;
  }
  return { ...done, unstable: true };
}

/**
 * Where the reading goes on after a round, if it does, and whether it gave up on a list that keeps changing.
 * `isFruitful`: whether the round brought what no round before it had; it is asked only where that matters.
 */
export async function nextRound(
  { continuation, again, unstable }: Pass,
  from: Continuation | undefined,
  isFruitful: () => Promise<boolean>,
): Promise<{ continuation: Continuation | undefined; unstable: boolean }> {
  if (!from || !(continuation ?? again)) return { continuation, unstable };
  const isPassFruitful = from.isFruitful || (await isFruitful());
  if (continuation) return { continuation: { ...continuation, isFruitful: isPassFruitful }, unstable };
  const isLast = !again || again.pass > MAX_PASSES;
  return { continuation: isPassFruitful && !isLast ? again : undefined, unstable: isPassFruitful && isLast };
}

const BEGINNING = { offset: 0, isPromised: false, reached: null, position: null };

function startOver(
  { since, until, pass }: Pick<Continuation, 'since' | 'until' | 'pass'>,
  groups: string,
): Continuation {
  return { ...BEGINNING, since, until, groups, group: 0, after: null, pass: pass + 1, isFruitful: false };
}

function isRefusal(error: unknown): error is GatehouseError {
  return (
    error instanceof GatehouseError &&
    (error.code === 'upstream_rejected' || error.code === 'invalid_request')
  );
}

/** A round: what it is for, what it brought so far, when it began, and the Date header of its first answer, and when that came. */
interface Reading {
  context: UpstreamContext;
  wish: PassWish;
  records: Map<string, Json>;
  unreadable: Unreadable[];
  began: number;
  date: number | undefined;
  datedAt: number;
}

/** A Date header that is a day off is not believed: every record would be new, or none. */
function isBelieved({ date, wish: { now } }: Reading): boolean {
  return date !== undefined && Math.abs(date - now) <= DAY;
}

/** An app's time by its Date header, else ours. */
function appTimeOf(reading: Reading): number {
  return isBelieved(reading) ? (reading.date ?? 0) : reading.wish.now;
}

/** Of an app whose clock is ahead, what changes until then is still to be read. */
function settledUntil(reading: Reading): number {
  return Math.min(appTimeOf(reading), reading.wish.now);
}

/** Where the Date header is far behind our clock, either may be wrong: what was read goes as far as its newest record. */
function readUntil(reading: Reading): number {
  const { date, records, wish } = reading;
  if (date === undefined || date >= wish.now - DAY) return settledUntil(reading);
  let until = date;
  for (const record of records.values()) until = Math.max(until, timeOf(wish.model, record) ?? 0);
  return Math.min(until, wish.now);
}

/** What one way through a list, or the part that a round takes of it, came to. */
interface Way {
  /** Where it stopped before the end. */
  stoppedAt: Omit<Continuation, 'groups' | 'until' | 'pass' | 'isFruitful'> | undefined;
  pages: number;
  /** Bytes of memory that its records take. */
  held: number;
  paging: string;
  /** It brought what those before it did not, and should have. */
  isFruitful: boolean;
  /** The app gave the same page again and again, or refused one that it had promised. */
  isStuck: boolean;
  /** The app refused the next page: it may have dropped its cursor, or the record that it named. */
  refusal: GatehouseError | undefined;
}

async function readOnce(
  reading: Reading,
  inputs: readonly JsonObject[],
  from: Continuation | undefined,
): Promise<Way> {
  const { records, unreadable } = reading;
  const { connector, model, since } = reading.wish;
  const way: Way = {
    stoppedAt: undefined,
    pages: 0,
    held: 0,
    paging: 'none',
    isFruitful: false,
    isStuck: false,
    refusal: undefined,
  };
  for (const [group, input] of inputs.entries()) {
    if (group < (from?.group ?? 0)) continue;
    const resumed = group === from?.group ? from : undefined;
    const bound = resumed?.after ?? since;
    const source = sourceOf(reading, model.list, boundedInput(model, input, bound));
    way.paging = source.paging.style;
    const met = new Set<string>();
    const positions = positionsInMemory(resumed?.position ?? undefined);
    let limit = pageSize(source);
    let offset = resumed?.offset ?? 0;
    let isPromised = resumed?.isPromised ?? false;
    let reached = resumed?.reached ?? null;
    for (;;) {
      const window = { limit, offset, isPromised, isExact: true };
      const page = await readPage(source, positions, window).catch((error: unknown) => {
        if (isInOrder(source) && offset > 0 && isRefusal(error)) return error;
        if (limit > 1 && canShrink(source) && isTooLarge(error)) return 'too large';
        throw error;
      });
      if (page instanceof GatehouseError) return { ...way, refusal: page };
      if (page === 'too large') {
        limit = Math.ceil(limit / 2);
        continue;
      }
      if (page.hasMore && page.records.length === 0) {
        const after = furtherOn(model, bound ?? 0, reached);
        if (after === undefined) return { ...way, isStuck: true };
        return { ...way, stoppedAt: { ...BEGINNING, since: since ?? null, group, after } };
      }
      way.pages += 1;
      offset += page.records.length;
      isPromised = page.isPromised ?? false;
      reached = timeOf(model, page.records.at(-1) ?? null) ?? reached;
      let old = 0;
      let known = 0;
      for (const record of page.records) {
        way.held += memoryOf(record);
        const id = idOf(model, record);
        if (id === undefined) {
          unreadable.push({
            record,
            reason: `${connector.name} gave a record without an id at ${model.remoteId}.`,
          });
          known += 1;
          continue;
        }
        if (met.has(id)) known += 1;
        met.add(id);
        const at = timeOf(model, record);
        // A list without a lower bound of its own is cut here.
        if (since !== undefined && at !== undefined && at < since) {
          old += 1;
          continue;
        }
        if (!records.has(id) && isSettled(model, record, settledUntil(reading))) way.isFruitful = true;
        records.set(id, record);
      }
      const passedAll = model.poll.order === 'descending' && old === page.records.length && old > 0;
      if (!page.hasMore || passedAll || page.records.length === 0) break;
      if (known === page.records.length) return { ...way, isStuck: true };
      if (way.pages >= MAX_PAGES || way.held > MAX_HELD || performance.now() - reading.began > ROUND_MS) {
        const position = (await positions.nearest(offset)) ?? null;
        const place = { group, after: resumed?.after ?? null, offset, isPromised, reached, position };
        return { ...way, stoppedAt: { since: since ?? null, ...place } };
      }
    }
  }
  return way;
}

/**
 * Where a list goes on whose further pages the app refuses, as many do beyond some thousand records: at the time of the
 * last one that it gave, if the list is in order. Less a second, as some take their bound for exclusive.
 */
function furtherOn(model: UnifiedModel, bound: number, reached: number | null): number | undefined {
  if (model.poll.order !== 'ascending' || model.poll.since === undefined || reached === null)
    return undefined;
  const after = reached - SECOND;
  return after > bound ? after : undefined;
}

/** Whether a record was there, as it is, when a reading began; without a time it may have been. */
export function isSettled(model: UnifiedModel, record: Json, startedAt: number): boolean {
  const at = timeOf(model, record);
  return at === undefined || at <= startedAt;
}

function canShrink({ paging }: ListSource): boolean {
  return paging.style !== 'none' && paging.limitParam !== undefined;
}

/** Whether it is read from one page to the next, and not by numbers. */
function isInOrder({ paging: { style } }: ListSource): boolean {
  return style === 'cursor' || style === 'keyset' || style === 'link';
}

function isTooLarge(error: unknown): boolean {
  return error instanceof GatehouseError && error.code === 'upstream_too_large';
}

/** Everything that a list action gives, such as the places whose records are then read. */
async function readWhole(reading: Reading, actionId: string): Promise<Json[]> {
  const source = sourceOf(reading, actionId, {});
  const positions = positionsInMemory(undefined);
  const all: Json[] = [];
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await readPage(source, positions, { limit: pageSize(source), offset: all.length });
    all.push(...page.records);
    if (!page.hasMore || page.records.length === 0) return all;
  }
  // To leave out the rest would be to hear nothing of it, for ever.
  throw new GatehouseError(
    'upstream_failed',
    `${source.name} has more than ${all.length} of what ${actionId} lists, which are more than are read.`,
  );
}

function pageSize({ paging }: ListSource): number {
  return paging.style === 'none' ? Number.MAX_SAFE_INTEGER : Math.min(paging.maxLimit, PAGE_RECORDS);
}

function boundedInput(model: UnifiedModel, input: JsonObject, since: number | undefined): JsonObject {
  const { since: parameter, input: more } = model.poll;
  const bound = parameter !== undefined && since !== undefined ? { [parameter]: boundOf(model, since) } : {};
  return { ...input, ...more, ...bound };
}

function sourceOf(reading: Reading, actionId: string, input: JsonObject): ListSource {
  const { connector, credential, signal } = reading.wish;
  const action = connector.actions.get(actionId);
  if (!action) throw new Error(`${connector.connectorId} has no action ${actionId}.`);
  const call = { connector, action, credential, input, ...(signal ? { signal } : {}) };
  const source = listSource(reading.context, call, () => {});
  return {
    ...source,
    async fetch(page) {
      const answer = await source.fetch(page);
      if (reading.date === undefined) {
        const date = parseHttpDate(answer.headers['date'] ?? '');
        reading.date = Number.isNaN(date) ? reading.wish.now : date;
        reading.datedAt = Number.isNaN(date) ? reading.wish.now : reading.context.clock.now();
      }
      return answer;
    },
  };
}

/** The lower bound as the app wants it written. Coarser forms are rounded down, so that nothing is cut off. */
function boundOf(model: UnifiedModel, since: number): string | number {
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

/** The time by which changes are found. */
function timeOf(model: UnifiedModel, record: Json): number | undefined {
  const path = model.poll.by === 'createdAt' ? model.createdAt : (model.updatedAt ?? model.createdAt);
  return path === undefined ? undefined : parseTime(valueAt(record, path), model.timeFormat);
}

function idOf(model: UnifiedModel, record: Json): string | undefined {
  const id = valueAt(record, model.remoteId);
  return typeof id === 'string' || typeof id === 'number' ? String(id) : undefined;
}

function positionsInMemory(start: Continuation['position'] | undefined): Positions {
  const kept: Position[] = start ? [{ ...start, cursor: start.cursor }] : [];
  return {
    nearest: async (offset) => kept.findLast((position) => position.offset <= offset),
    async remember(positions) {
      kept.push(...positions);
      kept.splice(0, Math.max(0, kept.length - 2));
    },
    async forget() {
      kept.length = 0;
    },
  };
}
