import { lookup as dnsLookup, type LookupAddress, type LookupAllOptions } from 'node:dns';
import { SECOND, systemClock, type Clock } from './clock.ts';

/** Looks up all addresses of a name, as dns.lookup(). */
export type Lookup = (hostname: string, options: LookupAllOptions, callback: LookupCallback) => void;

type LookupCallback = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/** A look-up that waits for its turn, or for an answer. */
interface Asked {
  key: string;
  hostname: string;
  options: LookupAllOptions;
  askedAt: number;
  waiting: LookupCallback[];
}

/** A look-up that occupies a thread. */
interface Begun {
  beganAt: number;
  /** Whether its name did not answer before, or is late now. */
  isDoubtful: boolean;
}

interface Failure {
  error: NodeJS.ErrnoException;
  at: number;
}

/**
 * Eight look-ups run at a time, because libuv gives half of its threads to look-ups and bin/gatehouse.js sets sixteen.
 * Any name may take six of them; names that failed before take at most two of the six.
 */
const ANYBODY_AT_ONCE = 6;
const FAILED_AT_ONCE = 2;
/**
 * Names that answered before may go beyond six, two at a time. A late look-up counts as doubtful, so names that went
 * silent have at most seven turns. The eighth is left to names that answered since the running look-ups began.
 */
const KNOWN_AT_ONCE = 2;
const ANSWERED_BEFORE_AT_ONCE = 7;
const AT_ONCE = 8;
/** A name that takes longer is not counted as answering. */
const SLOW_MS = SECOND;
/** A look-up that takes longer counts as doubtful. */
const LATE_MS = 250;
/** As long as a connection may take: the first caller has given up by then. */
const GIVEN_UP_MS = 10 * SECOND;
/** Shorter than the wait before any delivery's first retry, so that the retry looks the name up again. */
const FAILURE_REMEMBERED_MS = 2 * SECOND;
const MAX_NAMES = 1000;

/**
 * Looks names up so that names with a silent DNS do not delay others. A look-up cannot be cancelled, and occupies a
 * thread for ten seconds or more. Concurrent look-ups of one name share the answer, and a failure is cached for two
 * seconds. The last turns are left to names that are known to answer. Answers are not cached: each new connection
 * looks its name up again.
 */
export function shareLookups(lookup: Lookup = dnsLookup, clock: Clock = systemClock): Lookup {
  const underWay = new Map<string, Asked>();
  /** In the order of their start. */
  const begun = new Set<Begun>();
  /** Time of the last answer of each name that answers. */
  const answering = new Map<string, number>();
  /** The last failure of each name that has not answered since. */
  const failures = new Map<string, Failure>();
  const queue: Asked[] = [];
  /** Number of running look-ups of names that may not answer. */
  let doubtful = 0;

  /** Returns the number of running look-ups below which a look-up of this name may start. */
  const turnsOf = (hostname: string): number => {
    const answeredAt = answering.get(hostname);
    if (answeredAt === undefined || begun.size - doubtful >= KNOWN_AT_ONCE)
      return failures.has(hostname) && doubtful >= FAILED_AT_ONCE ? 0 : ANYBODY_AT_ONCE;
    const [oldest] = begun;
    return oldest && answeredAt > oldest.beganAt ? AT_ONCE : ANSWERED_BEFORE_AT_ONCE;
  };

  const mayBegin = ({ hostname }: Asked): boolean => begun.size < turnsOf(hostname);

  const begin = ({ key, hostname, options, waiting }: Asked): void => {
    const one: Begun = { beganAt: clock.now(), isDoubtful: !answering.has(hostname) };
    begun.add(one);
    if (one.isDoubtful) doubtful++;
    const timer = setTimeout(() => {
      if (one.isDoubtful) return;
      one.isDoubtful = true;
      doubtful++;
      answering.delete(hostname);
      beginWaiting();
    }, LATE_MS);
    lookup(hostname, options, (error, addresses) => {
      clearTimeout(timer);
      begun.delete(one);
      if (one.isDoubtful) doubtful--;
      underWay.delete(key);
      remember(hostname, error, one.beganAt);
      beginWaiting();
      for (const tell of waiting) tell(error, addresses);
    });
  };

  const beginWaiting = (): void => {
    giveUp();
    for (let next = nextOne(); next; next = nextOne()) {
      queue.splice(queue.indexOf(next), 1);
      begin(next);
    }
  };

  const nextOne = (): Asked | undefined => {
    if (begun.size < ANYBODY_AT_ONCE) return queue.find(mayBegin);
    if (begun.size - doubtful >= KNOWN_AT_ONCE) return undefined;
    // Among names that went silent together, the names that still answer were the last to answer.
    let best: Asked | undefined;
    for (const asked of queue)
      if (mayBegin(asked) && (!best || lastAnswer(asked) > lastAnswer(best))) best = asked;
    return best;
  };

  const lastAnswer = ({ hostname }: Asked): number => answering.get(hostname) ?? 0;

  /** Rejects look-ups that no caller waits for any more; they would occupy a thread for nothing. */
  const giveUp = (): void => {
    const now = clock.now();
    for (let first = queue[0]; first && now - first.askedAt >= GIVEN_UP_MS; first = queue[0]) {
      queue.shift();
      underWay.delete(first.key);
      for (const tell of first.waiting) tell(noAnswer(first.hostname), []);
    }
  };

  const remember = (hostname: string, error: NodeJS.ErrnoException | null, beganAt: number): void => {
    const now = clock.now();
    answering.delete(hostname);
    failures.delete(hostname);
    if (error) failures.set(hostname, { error, at: now });
    else if (now - beganAt < SLOW_MS) answering.set(hostname, now);
    // The oldest entry goes first.
    for (const names of [answering, failures]) {
      if (names.size > MAX_NAMES) names.delete(names.keys().next().value ?? '');
    }
  };

  return (hostname, options, callback) => {
    const now = clock.now();
    const failure = failures.get(hostname);
    if (failure && now - failure.at < FAILURE_REMEMBERED_MS) return callback(failure.error, []);
    const key = `${hostname} ${options.hints ?? 0}`;
    const shared = underWay.get(key);
    if (shared && now - shared.askedAt >= GIVEN_UP_MS) return callback(noAnswer(hostname), []);
    if (shared) return void shared.waiting.push(callback);
    const asked: Asked = { key, hostname, options, askedAt: now, waiting: [callback] };
    underWay.set(key, asked);
    if (mayBegin(asked)) begin(asked);
    else queue.push(asked);
  };
}

function noAnswer(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`The look-up of ${hostname} gets no answer.`), { code: 'EAI_AGAIN' });
}
