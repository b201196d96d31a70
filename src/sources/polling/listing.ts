import { ownAction, type Connector } from '../../connectors/catalog.ts';
import { readPage } from '../../actions/offset-pages.ts';
import type { ListSource } from '../../actions/list-page.ts';
import { positionsInMemory } from '../../actions/positions.ts';
import { listSource } from '../../actions/read-results.ts';
import { DAY, MINUTE, parseHttpDate } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { MIB } from '../../lib/http/http-body.ts';
import { canonicalJson, memoryOf, type Json, type JsonObject } from '../../lib/json.ts';
import type { UpstreamContext } from '../../upstream/call.ts';
import type { OpenCredential } from '../../upstream/open-credential.ts';
import { listInputs, withMember, type ListCall } from '../../unified/inputs.ts';
import { remoteIdIn } from '../../unified/map.ts';
import type { SourceModel } from '../../connectors/source-model.ts';
import type { Continuation } from '../source.ts';
import { boundedInput, furtherOn, isSettled, timeOf } from './record-times.ts';
import { sha256 } from '../../lib/sha256.ts';

/** Upstream pages of one poll. The next poll continues with the rest. */
const MAX_PAGES = 40;
/** Approximate memory for the records of one poll. The poll ends with the page that exceeds it. */
const MAX_MEMORY = 64 * MIB;
/** Limit of page walks through a list whose pages shift. A walk that finds nothing new ends them. */
const MAX_WALKS = 4;
const PAGE_RECORDS = 250;
/** Milliseconds that all page walks of a poll may take. The next poll continues with the rest. */
const MAX_POLL_MS = 2 * MINUTE;

/** Records that one poll read of a list. Times are epoch milliseconds on the app's clock. */
export interface Listing {
  /**
   * Records by their id at the app, in the order of reading. A record that was read twice has its last state.
   */
  records: Map<string, Json>;
  /**
   * The app's time when the listing began, or an earlier one where that is in doubt. All changes up to it
   * were read.
   */
  startedAt: number;
  /** The app's time when the poll began, by its Date header; our time without a plausible header. */
  appTime: number;
  /** Milliseconds by which the app's clock is ahead of ours, less the time that its answer took. */
  aheadMs: number;
  /** Place where the next poll continues; undefined when all was read. */
  continuation: Continuation | undefined;
  /**
   * Start of another page walk; set when this poll ended a walk of several polls. The caller starts it if the
   * walk found something new.
   */
  again: Continuation | undefined;
  /** True when the list kept changing during the listing, so a record may have slipped between two pages. */
  unstable: boolean;
  /** Error with which the app refused each page walk in the middle of the list. */
  refusal: GatehouseError | undefined;
  unreadable: Unreadable[];
}

/** A record that cannot be published, and why. */
export interface Unreadable {
  record: Json;
  reason: string;
}

export interface ListingOptions {
  connector: Connector;
  credential: OpenCredential;
  model: SourceModel;
  /** Lower bound of the time of change; undefined reads all records. */
  since: number | undefined;
  /** Place where an interrupted listing continues. */
  from?: Continuation | undefined;
  now: number;
  signal?: AbortSignal | undefined;
}

/**
 * Reads the records of a model since a time. The pages of a list with numbered pages shift when a record
 * before them goes or moves. A record can then slip between two pages. Such a list is therefore walked again
 * until a page walk finds nothing new. Where a page walk takes several polls, only the caller knows what is
 * new: see `continueListing`.
 * @throws GatehouseError as callUpstream and interpretAnswer.
 */
export async function readSince(context: UpstreamContext, options: ListingOptions): Promise<Listing> {
  const { from } = options;
  const records = new Map<string, Json>();
  const state: ListingState = {
    context,
    options,
    records,
    unreadable: [],
    began: performance.now(),
    date: undefined,
    datedAt: options.now,
  };
  const inputs = await listInputs(options.connector, options.model, {
    credential: options.credential,
    readAll: (call) => readWhole(state, call),
  });
  const groups = sha256(canonicalJson(inputs));
  const hasSameLists = from === undefined || from.groups === groups;
  const first = hasSameLists ? await walkPages(state, inputs, from) : undefined;
  const startedAt = from?.until ?? readUntil(state);
  const done: Listing = {
    records,
    startedAt,
    appTime: appTimeOf(state),
    aheadMs: hasPlausibleDate(state) ? (state.date ?? 0) - state.datedAt : 0,
    continuation: undefined,
    again: undefined,
    unstable: false,
    refusal: undefined,
    unreadable: state.unreadable,
  };
  // The app dropped the cursor or the record that it named, or the model has other lists now.
  if (!first || first.refusal) {
    const before = from ?? { since: options.since ?? null, until: startedAt, pass: 1 };
    // A walk that began at a later time and was refused there would be refused again.
    const isRefusedAgain = first?.refusal !== undefined && (from?.after ?? null) !== null;
    return before.pass < MAX_WALKS && !isRefusedAgain
      ? { ...done, continuation: nextWalk(before, groups) }
      : { ...done, unstable: true, refusal: first?.refusal };
  }
  if (first.isStuck) return { ...done, unstable: true };
  if (first.stoppedAt) {
    const { pass = 1, isFruitful = true } = from ?? {};
    return { ...done, continuation: { ...first.stoppedAt, groups, until: startedAt, pass, isFruitful } };
  }
  if (first.paging !== 'offset' && first.paging !== 'page') return done;
  if (from) return { ...done, again: nextWalk(from, groups) };
  // One page is one answer, so no record can slip between pages.
  if (first.pages < 2) return done;
  for (let pass = 2; pass <= MAX_WALKS; pass++) {
    const { stoppedAt, isFruitful, isStuck } = await walkPages(state, inputs, undefined);
    if (isStuck) break;
    if (stoppedAt)
      return { ...done, continuation: { ...stoppedAt, groups, until: startedAt, pass, isFruitful } };
    if (!isFruitful) return done;
  }
  return { ...done, unstable: true };
}

/**
 * Returns where the listing continues after a poll, and whether it gave up on a list that keeps changing.
 * `isFruitful` returns true when the poll found something new; it is called only where that matters.
 */
export async function continueListing(
  { continuation, again, unstable }: Listing,
  from: Continuation | undefined,
  isFruitful: () => Promise<boolean>,
): Promise<{ continuation: Continuation | undefined; unstable: boolean }> {
  if (!from || !(continuation ?? again)) return { continuation, unstable };
  const isPassFruitful = from.isFruitful || (await isFruitful());
  if (continuation) return { continuation: { ...continuation, isFruitful: isPassFruitful }, unstable };
  const isLast = !again || again.pass > MAX_WALKS;
  return { continuation: isPassFruitful && !isLast ? again : undefined, unstable: isPassFruitful && isLast };
}

const BEGINNING = { offset: 0, isPromised: false, reached: null, position: null };

function nextWalk(
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

/**
 * State of one poll: its options, the records so far, and its start. `date` is the Date header of the first
 * answer, which came at `datedAt`.
 */
interface ListingState {
  context: UpstreamContext;
  options: ListingOptions;
  records: Map<string, Json>;
  unreadable: Unreadable[];
  began: number;
  date: number | undefined;
  datedAt: number;
}

/**
 * Returns whether the Date header is plausible. With a header that is more than a day off, all records or
 * none would be new.
 */
function hasPlausibleDate({ date, options: { now } }: ListingState): boolean {
  return date !== undefined && Math.abs(date - now) <= DAY;
}

/** Returns the app's time by its Date header, or ours without a plausible one. */
function appTimeOf(state: ListingState): number {
  return hasPlausibleDate(state) ? (state.date ?? 0) : state.options.now;
}

/**
 * Returns the time up to which the list is complete. It is at most our time: where the app's clock is ahead,
 * changes until then are still to be read.
 */
function settledUntil(state: ListingState): number {
  return Math.min(appTimeOf(state), state.options.now);
}

/**
 * Returns the time up to which changes were read. A Date header more than a day behind our clock leaves open
 * which clock is wrong. The time of the newest record then counts.
 */
function readUntil(state: ListingState): number {
  const { date, records, options } = state;
  if (date === undefined || date >= options.now - DAY) return settledUntil(state);
  let until = date;
  for (const record of records.values()) until = Math.max(until, timeOf(options.model, record) ?? 0);
  return Math.min(until, options.now);
}

/** Result of a page walk through a list, or of the part that one poll reads. */
interface PageWalk {
  /** Place where the walk stopped before the end of the list. */
  stoppedAt: Omit<Continuation, 'groups' | 'until' | 'pass' | 'isFruitful'> | undefined;
  pages: number;
  /** Bytes of memory that the records take. */
  memory: number;
  paging: string;
  /** True when the walk found a record that earlier walks should have found. */
  isFruitful: boolean;
  /** True when the app repeated a page, or refused a page that it had announced. */
  isStuck: boolean;
  /**
   * Error with which the app refused the next page. It may have dropped its cursor, or the record that the
   * cursor named.
   */
  refusal: GatehouseError | undefined;
}

async function walkPages(
  state: ListingState,
  inputs: readonly JsonObject[],
  from: Continuation | undefined,
): Promise<PageWalk> {
  const { records, unreadable } = state;
  const { connector, model, since } = state.options;
  const walk: PageWalk = {
    stoppedAt: undefined,
    pages: 0,
    memory: 0,
    paging: 'none',
    isFruitful: false,
    isStuck: false,
    refusal: undefined,
  };
  for (const [group, input] of inputs.entries()) {
    if (group < (from?.group ?? 0)) continue;
    const resumed = group === from?.group ? from : undefined;
    const bound = resumed?.after ?? since;
    const call = { actionId: listActionOf(model, bound), input: boundedInput(model, input, bound) };
    const source = sourceOf(state, call);
    walk.paging = source.paging.style;
    const readIds = new Set<string>();
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
      if (page === 'too large') {
        limit = Math.ceil(limit / 2);
        continue;
      }
      const isRefused = page instanceof GatehouseError;
      if (isRefused || (page.hasMore && page.records.length === 0)) {
        const after = furtherOn(model, bound, reached);
        if (after === undefined) return { ...walk, ...(isRefused ? { refusal: page } : { isStuck: true }) };
        return { ...walk, stoppedAt: { ...BEGINNING, since: since ?? null, group, after } };
      }
      walk.pages += 1;
      offset += page.records.length;
      isPromised = page.isPromised ?? false;
      reached = timeOf(model, page.records.at(-1) ?? null) ?? reached;
      let old = 0;
      let known = 0;
      for (const record of withMember(model, input, page.records)) {
        walk.memory += memoryOf(record);
        const id = remoteIdIn(record, model);
        if (id === undefined) {
          unreadable.push({
            record,
            reason: `${connector.name} gave a record without an id at ${[model.remoteId].flat().join(', ')}.`,
          });
          known += 1;
          continue;
        }
        if (readIds.has(id)) known += 1;
        readIds.add(id);
        const at = timeOf(model, record);
        // A list without a lower bound parameter is cut here.
        if (since !== undefined && at !== undefined && at < since) {
          old += 1;
          continue;
        }
        if (!records.has(id) && isSettled(model, record, settledUntil(state))) walk.isFruitful = true;
        records.set(id, record);
      }
      const reachedOld = model.poll.order === 'descending' && old === page.records.length && old > 0;
      if (!page.hasMore || reachedOld || page.records.length === 0) break;
      if (known === page.records.length) return { ...walk, isStuck: true };
      if (
        walk.pages >= MAX_PAGES ||
        walk.memory > MAX_MEMORY ||
        performance.now() - state.began > MAX_POLL_MS
      ) {
        const position = (await positions.nearest(offset)) ?? null;
        const place = { group, after: resumed?.after ?? null, offset, isPromised, reached, position };
        return { ...walk, stoppedAt: { since: since ?? null, ...place } };
      }
    }
  }
  return walk;
}

/** Returns the list action of a poll with this lower bound. */
function listActionOf({ list = '', poll }: SourceModel, bound: number | undefined): string {
  return bound === undefined ? list : (poll.list ?? list);
}

function canShrink({ paging }: ListSource): boolean {
  return paging.style !== 'none' && paging.limitParam !== undefined;
}

/** Returns whether each page leads to the next, as opposed to numbered pages. */
function isInOrder({ paging: { style } }: ListSource): boolean {
  return style === 'cursor' || style === 'keyset' || style === 'link';
}

function isTooLarge(error: unknown): boolean {
  return error instanceof GatehouseError && error.code === 'upstream_too_large';
}

/** Reads all records of a list action, for example the places whose records are then listed. */
async function readWhole(state: ListingState, call: ListCall): Promise<Json[]> {
  const source = sourceOf(state, call);
  const positions = positionsInMemory(undefined);
  const all: Json[] = [];
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const page = await readPage(source, positions, { limit: pageSize(source), offset: all.length });
    all.push(...page.records);
    if (!page.hasMore || page.records.length === 0) return all;
  }
  // Skipping the rest would leave out its records for ever.
  throw new GatehouseError(
    'upstream_failed',
    `${source.name} has more than ${all.length} records in ${call.actionId}, which is the most that Gatehouse reads.`,
  );
}

function pageSize({ paging }: ListSource): number {
  return paging.style === 'none' ? Number.MAX_SAFE_INTEGER : Math.min(paging.maxLimit, PAGE_RECORDS);
}

function sourceOf(state: ListingState, { actionId, input }: ListCall): ListSource {
  const { connector, credential, signal } = state.options;
  const action = ownAction(connector, actionId);
  if (!action) throw new Error(`${connector.connectorId} has no action ${actionId}.`);
  const call = { connector, action, credential, input, ...(signal ? { signal } : {}) };
  const source = listSource(state.context, call, () => {});
  return {
    ...source,
    async fetch(page) {
      const answer = await source.fetch(page);
      if (state.date === undefined) {
        const date = parseHttpDate(answer.headers['date'] ?? '');
        state.date = Number.isNaN(date) ? state.options.now : date;
        state.datedAt = Number.isNaN(date) ? state.options.now : state.context.clock.now();
      }
      return answer;
    },
  };
}
