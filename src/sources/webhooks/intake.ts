import { createHmac } from 'node:crypto';
import type { Insertable } from 'kysely';
import type { HookChallenge } from '../../connectors/format/verify-format.ts';
import type { Context } from '../context.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { BodyRoom, MIB } from '../../lib/http/http-body.ts';
import { newOrderedId } from '../../lib/ids.ts';
import { manyRows, runPrepared, textsFor } from '../../store/prepared.ts';
import type { Tables, Tx } from '../../store/schema.ts';
import { customFieldsOf } from '../../unified/field-mappings.ts';
import { createPause } from '../../upstream/large-answers.ts';
import { accountSwitched } from '../consumers.ts';
import { topicsOf } from '../../connectors/webhook-topics.ts';
import { createKeyReader } from './fetch-keys.ts';
import { eventsIn, type HookEvent } from './hook-events.ts';
import { readManualAddress, storeArrival, type ManualAddress } from './manual-address.ts';
import { isManualToken } from './manual-hook.ts';
import {
  createHookSenders,
  unknownAddress,
  isCurrent,
  lockSenders,
  readSenders,
  type HookSender,
  type SenderRow,
} from './senders.ts';
import { UNTIL_PRUNED } from '../source.ts';
import { textAt, type HookRequest } from './hook-request.ts';
import { startReading, type Reading } from './hook-reading.ts';
import { filled } from './signed-content.ts';
import { interpret, publishInterpretations, type Interpretation } from './interpretation.ts';
import type { Accepted, Intake } from '../context.ts';

/**
 * Webhooks up to this size are interpreted before the answer. Longer ones are stored and interpreted later.
 */
const INTERPRETED_AT_ONCE = { bytes: 64 * 1024, events: 20 };
/** Memory limits for webhooks being received. One source cannot use all of it, even with unfinished requests. */
const MOST_AT_ONCE = { bytes: 64 * MIB, bytesEach: 16 * MIB };
const RECEIVED: Accepted = { status: 200, body: '{"received":true}', contentType: 'application/json' };

/** A genuine webhook to be stored. */
interface Arrival {
  sender: HookSender;
  rows: InboxRow[];
  /** Interpretation of each row; undefined when the inbox interprets them later. */
  interpretations: readonly Interpretation[] | undefined;
}

type InboxRow = Required<Insertable<Tables['inbox']>>;

/** `outdated`, `ended`: nothing was stored, because the source has changed or ended since it was read. */
type Stored = 'published' | 'waiting' | 'outdated' | 'ended';
type Taken = Stored | 'not_genuine';

const insertInbox = manyRows((db, rows: InboxRow[]) =>
  db
    .insertInto('inbox')
    .values(rows)
    .onConflict((c) => c.columns(['source_id', 'dedupe_key']).doNothing())
    .returning('inbox_id'),
);

/** Creates the intake of a process. Webhooks that arrive together share a transaction and its sync. */
export function createIntake(context: Context): Intake {
  const senders = createHookSenders(context);
  const fetchKeys = createKeyReader(context);
  const room = new BodyRoom(MOST_AT_ONCE);
  const pause = createPause();
  const arrivals = context.store.groupCommit<Arrival, Stored>(
    (tx, some) => storeAll(tx, context, some),
    (tx) => context.dispatcher.committed(tx),
  );

  /**
   * Stores a webhook without its events when the store refuses them. The inbox tries the events again and
   * reports the reason.
   */
  const store = async (arrival: Arrival): Promise<Stored> => {
    try {
      return await arrivals.add(arrival);
    } catch (error) {
      if (!arrival.interpretations) throw error;
      return arrivals.add({ ...arrival, interpretations: undefined });
    }
  };

  const take = async (sender: HookSender, hook: Reading): Promise<Taken> => {
    if (!(await sender.isGenuine(hook.signed, context.clock.now()))) return 'not_genuine';
    const request = await hook.whole();
    return takeEvents(sender, request, eventsIn(sender.webhooks, request, sender.account));
  };

  const takeEvents = async (
    sender: HookSender,
    request: HookRequest,
    events: readonly HookEvent[],
  ): Promise<Stored> => {
    const arrival = await arrivalOf(context, sender, { request, events });
    if (arrival.rows.length === 0) return 'published';
    const stored = await store(arrival);
    if (stored === 'waiting') context.sources.wake();
    return stored;
  };

  /** Takes a webhook for each source of the connection that has topics of it. */
  const acceptManual = async (address: ManualAddress, hook: Reading): Promise<Accepted> => {
    const { webhooks, account, senders: ofConnection } = address;
    const challenged = challengeOf(address, hook.signed);
    if (challenged) return challenged;
    if (!(await address.isGenuine(hook.signed, context.clock.now()))) throw wrongSignature();
    const request = await hook.whole();
    const events = eventsIn(webhooks, request, account);
    await storeArrival(
      context,
      address,
      events.map(({ topic }) => topic),
    );
    for (const sender of ofConnection) {
      const topics = new Set(topicsOf(webhooks, sender.source.scope).map(({ topic }) => topic));
      const own = events.filter(({ topic }) => topics.has(topic));
      if ((await takeEvents(sender, request, own)) === 'outdated') throw accountSwitched();
    }
    return RECEIVED;
  };

  return {
    expect: (connectorId, token) =>
      isManualToken(token)
        ? readManualAddress(context, { connectorId, token, fetchKeys })
        : senders.find(connectorId, token),
    hold: (sender) => room.hold('senders' in sender ? sender.credentialId : sender.source.sourceId),
    async accept(sender, arrived) {
      const hook = await startReading(context, arrived, { sender, pause });
      if ('senders' in sender) return acceptManual(sender, hook);
      const challenged = challengeOf(sender, hook.signed);
      if (challenged) return challenged;
      let taken = await take(sender, hook);
      if (taken === 'not_genuine' || taken === 'outdated') {
        // The sender in memory may be older than a change of the key. After a change of the account the address is unknown.
        const current = await senders.reload(sender).catch((error: unknown) => {
          if (taken === 'outdated') throw accountSwitched();
          throw error;
        });
        if (!isCurrent(sender, current.row)) taken = await take(current, hook);
      }
      switch (taken) {
        case 'not_genuine':
          throw wrongSignature();
        case 'outdated':
          throw accountSwitched();
        case 'ended':
          throw unknownAddress();
        default:
          return RECEIVED;
      }
    },
  };
}

function wrongSignature(): GatehouseError {
  return new GatehouseError('unauthorized', 'The signature of this webhook is not right.');
}

/**
 * Returns the answer to an app that checks the address before its first webhook; undefined for other
 * requests.
 * @throws GatehouseError `invalid_request` for a value to be signed that could be the content of a webhook.
 */
function challengeOf(
  { webhooks, value: valueOf }: Pick<HookSender, 'webhooks' | 'value'>,
  request: HookRequest,
): Accepted | undefined {
  const { challenge } = webhooks;
  const asked = challenge?.method === request.method ? textAt(request, challenge.value) : undefined;
  if (!challenge || asked === undefined) return undefined;
  const value = asked.slice(0, 1000);
  if (challenge.as === 'text') return { status: 200, body: value, contentType: 'text/plain; charset=utf-8' };
  const answer = {
    ...(challenge.as === 'json' ? { [challenge.member]: value } : {}),
    ...(challenge.signed ? signedMember(challenge.signed, value, valueOf) : {}),
  };
  return { status: 200, body: JSON.stringify(answer), contentType: 'application/json' };
}

/**
 * Returns the member with the HMAC of a challenge's value. The key may also sign webhooks, so a value that could be the
 * content of a webhook is refused. Otherwise any sender that knows the address could have such a content signed.
 */
function signedMember(
  { member, key, algorithm, encoding, prefix }: NonNullable<HookChallenge['signed']>,
  value: string,
  valueOf: HookSender['value'],
): Record<string, string> {
  const filledKey = filled(key, valueOf);
  if (!/^[\w\-.~+/=]{1,300}$/.test(value) || filledKey === undefined)
    throw new GatehouseError('invalid_request', 'The value of this challenge is not signed.');
  const hmac = createHmac(algorithm, filledKey).update(value).digest(encoding);
  return { [member]: `${prefix}${hmac}` };
}

async function arrivalOf(
  context: Context,
  sender: HookSender,
  { request, events }: { request: HookRequest; events: readonly HookEvent[] },
): Promise<Arrival> {
  const now = context.clock.now();
  const isSmall =
    request.raw.length <= INTERPRETED_AT_ONCE.bytes && events.length <= INTERPRETED_AT_ONCE.events;
  const interpretations = isSmall
    ? await interpretAll(context, sender, { events, receivedAt: now })
    : undefined;
  const rows = events.map(({ topic, dedupeKey, body }) => ({
    inbox_id: newOrderedId('inb', now),
    source_id: sender.source.sourceId,
    dedupe_key: dedupeKey,
    topic,
    body: JSON.stringify(body),
    received_at: now,
    processed_at: null,
    attempts: 0,
    next_at: now,
    error: null,
  }));
  return { sender, rows, interpretations };
}

/**
 * Returns the interpretations of events; undefined when the inbox interprets them later. That is the case
 * when an event requires a read at the app, causes a poll or cannot be interpreted. It is also the case with
 * custom fields of the operator, whose expressions may take seconds while the app waits.
 */
async function interpretAll(
  context: Context,
  sender: HookSender,
  { events, receivedAt }: { events: readonly HookEvent[]; receivedAt: number },
): Promise<Interpretation[] | undefined> {
  const { source, connector } = sender;
  const fields = await customFieldsOf(context, source);
  if (fields) return undefined;
  const interpretations: Interpretation[] = [];
  for (const { topic, body } of events) {
    const event = { topic, body, receivedAt };
    const interpretation = await interpret(context, { source, connector, fields }, event).catch(
      () => undefined,
    );
    if (!interpretation || interpretation.kind === 'fetch' || interpretation.kind === 'changed')
      return undefined;
    interpretations.push(interpretation);
  }
  return interpretations;
}

/** Stores webhooks in one transaction, and publishes the events of those with interpretations. */
async function storeAll(tx: Tx, context: Context, arrivals: readonly Arrival[]): Promise<Stored[]> {
  const now = context.clock.now();
  const states = await statesOf(tx, context, arrivals);
  const results: Stored[] = [];
  const rows: InboxRow[] = [];
  const interpreted = new Map<string, Arrival[]>();
  const held = new Set<string>();
  for (const arrival of arrivals) {
    const { sourceId } = arrival.sender.source;
    const state = states.get(sourceId);
    if (!isCurrent(arrival.sender, state?.row)) {
      results.push(!state || state.row.status === 'ending' ? 'ended' : 'outdated');
      continue;
    }
    // Webhooks of a source are interpreted in their order, so none overtakes a waiting one.
    if (!state?.isFree || !arrival.interpretations) held.add(sourceId);
    const published = !held.has(sourceId);
    results.push(published ? 'published' : 'waiting');
    if (published) interpreted.set(sourceId, [...(interpreted.get(sourceId) ?? []), arrival]);
    for (const row of arrival.rows) rows.push(published ? { ...row, body: 'null', processed_at: now } : row);
  }
  const inserted = await insertInbox(context.db, tx, rows);
  const fresh = new Set(inserted.map((row) => row.inbox_id));
  for (const some of interpreted.values()) await publishFresh(tx, context, { arrivals: some, fresh });
  return results;
}

/** Publishes the events of webhooks of one source, except those that were stored before. */
async function publishFresh(
  tx: Tx,
  context: Context,
  { arrivals, fresh }: { arrivals: readonly Arrival[]; fresh: ReadonlySet<string> },
): Promise<void> {
  const [first] = arrivals;
  if (!first) return;
  const interpretations = arrivals.flatMap(({ rows, interpretations: all = [] }) =>
    all.filter((_, position) => fresh.has(rows[position]?.inbox_id ?? '')),
  );
  await publishInterpretations(tx, context, { source: first.sender.source, interpretations });
}

interface SenderState {
  row: SenderRow;
  /** True when this transaction holds the row's lock and no webhook of the source waits. */
  isFree: boolean;
}

/**
 * Returns the state of each sender's rows in this transaction. It does not lock the rows of webhooks that are
 * only stored. A poll or an account switch may hold those locks for long.
 */
async function statesOf(
  tx: Tx,
  { db, clock }: Context,
  arrivals: readonly Arrival[],
): Promise<Map<string, SenderState>> {
  const states = new Map<string, SenderState>();
  const interpreted = idsOf(arrivals.filter(({ interpretations }) => interpretations));
  if (interpreted.length > 0) {
    const { rows } = await runPrepared(tx, lockSenders(db), [clock.now(), textsFor(db, interpreted)]);
    for (const row of rows) {
      const isFree = !row.waiting && row.lease_until !== UNTIL_PRUNED;
      states.set(row.source_id, { row, isFree });
    }
  }
  const others = idsOf(arrivals).filter((id) => !states.has(id));
  if (others.length === 0) return states;
  const { rows } = await runPrepared(tx, readSenders(db), [textsFor(db, others)]);
  for (const row of rows) states.set(row.source_id, { row, isFree: false });
  return states;
}

function idsOf(arrivals: readonly Arrival[]): string[] {
  return [...new Set(arrivals.map(({ sender }) => sender.source.sourceId))];
}
