import { lookup as dnsLookup, type LookupAddress, type LookupAllOptions } from 'node:dns';
import { SECOND, systemClock, type Clock } from '../lib/clock.ts';

/** Looks up all addresses of a name, as dns.lookup(). */
export type Lookup = (hostname: string, options: LookupAllOptions, callback: LookupCallback) => void;

type LookupCallback = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/** A look-up that waits for its turn, or for an answer. */
interface PendingLookup {
  key: string;
  hostname: string;
  options: LookupAllOptions;
  askedAt: number;
  waiting: LookupCallback[];
}

/** A look-up that occupies a thread. */
interface RunningLookup {
  startedAt: number;
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
const MAX_ANY = 6;
const MAX_FAILED = 2;
/**
 * Names that answered before may also use the seventh and eighth thread, two at a time. A late look-up counts as
 * doubtful. The eighth thread is only for names that answered after the oldest running look-up began.
 */
const MAX_KNOWN = 2;
const MAX_ANSWERED_BEFORE = 7;
const MAX_RUNNING = 8;
/** A name that takes longer is not counted as answering. */
const SLOW_MS = SECOND;
/** A look-up that takes longer counts as doubtful. */
const LATE_MS = 250;
/** The time limit of a connection, after which the first caller has given up. */
const MAX_WAIT_MS = 10 * SECOND;
/** Shorter than the wait before any delivery's first retry, so that the retry looks the name up again. */
const FAILURE_TTL_MS = 2 * SECOND;
const MAX_NAMES = 1000;

/**
 * Looks names up so that names with a silent DNS do not delay others. A look-up cannot be cancelled, and occupies a
 * thread for ten seconds or more. Concurrent look-ups of one name share the answer, and a failure is cached for two
 * seconds. The last two threads are for names that are known to answer. Answers are not cached: each new connection
 * looks its name up again.
 */
export function shareLookups(lookup: Lookup = dnsLookup, clock: Clock = systemClock): Lookup {
  const underWay = new Map<string, PendingLookup>();
  /** In the order of their start. */
  const running = new Set<RunningLookup>();
  /** Time of the last answer of each name that answers. */
  const answering = new Map<string, number>();
  /** The last failure of each name that has not answered since. */
  const failures = new Map<string, Failure>();
  const queue: PendingLookup[] = [];
  /** Number of running look-ups of names that may not answer. */
  let doubtful = 0;

  /** Returns the number of running look-ups below which a look-up of this name may start. */
  const limitFor = (hostname: string): number => {
    const answeredAt = answering.get(hostname);
    if (answeredAt === undefined || running.size - doubtful >= MAX_KNOWN)
      return failures.has(hostname) && doubtful >= MAX_FAILED ? 0 : MAX_ANY;
    const [oldest] = running;
    return oldest && answeredAt > oldest.startedAt ? MAX_RUNNING : MAX_ANSWERED_BEFORE;
  };

  const mayStart = ({ hostname }: PendingLookup): boolean => running.size < limitFor(hostname);

  const start = ({ key, hostname, options, waiting }: PendingLookup): void => {
    const one: RunningLookup = { startedAt: clock.now(), isDoubtful: !answering.has(hostname) };
    running.add(one);
    if (one.isDoubtful) doubtful++;
    const timer = setTimeout(() => {
      if (one.isDoubtful) return;
      one.isDoubtful = true;
      doubtful++;
      answering.delete(hostname);
      startWaiting();
    }, LATE_MS);
    lookup(hostname, options, (error, addresses) => {
      clearTimeout(timer);
      running.delete(one);
      if (one.isDoubtful) doubtful--;
      underWay.delete(key);
      recordResult(hostname, error, one.startedAt);
      startWaiting();
      for (const callback of waiting) callback(error, addresses);
    });
  };

  const startWaiting = (): void => {
    rejectExpired();
    for (let next = nextLookup(); next; next = nextLookup()) {
      queue.splice(queue.indexOf(next), 1);
      start(next);
    }
  };

  const nextLookup = (): PendingLookup | undefined => {
    if (running.size < MAX_ANY) return queue.find(mayStart);
    if (running.size - doubtful >= MAX_KNOWN) return undefined;
    // Among names that went silent together, the names that still answer were the last to answer.
    let best: PendingLookup | undefined;
    for (const asked of queue)
      if (mayStart(asked) && (!best || lastAnswer(asked) > lastAnswer(best))) best = asked;
    return best;
  };

  const lastAnswer = ({ hostname }: PendingLookup): number => answering.get(hostname) ?? 0;

  /** Rejects look-ups that no caller waits for any more; they would occupy a thread for nothing. */
  const rejectExpired = (): void => {
    const now = clock.now();
    for (let first = queue[0]; first && now - first.askedAt >= MAX_WAIT_MS; first = queue[0]) {
      queue.shift();
      underWay.delete(first.key);
      for (const callback of first.waiting) callback(noAnswer(first.hostname), []);
    }
  };

  const recordResult = (hostname: string, error: NodeJS.ErrnoException | null, startedAt: number): void => {
    const now = clock.now();
    answering.delete(hostname);
    failures.delete(hostname);
    if (error) failures.set(hostname, { error, at: now });
    else if (now - startedAt < SLOW_MS) answering.set(hostname, now);
    // The oldest entry goes first.
    for (const names of [answering, failures]) {
      if (names.size > MAX_NAMES) names.delete(names.keys().next().value ?? '');
    }
  };

  return (hostname, options, callback) => {
    const now = clock.now();
    const failure = failures.get(hostname);
    if (failure && now - failure.at < FAILURE_TTL_MS) return callback(failure.error, []);
    const key = `${hostname} ${options.hints ?? 0}`;
    const shared = underWay.get(key);
    if (shared && now - shared.askedAt >= MAX_WAIT_MS) return callback(noAnswer(hostname), []);
    if (shared) return void shared.waiting.push(callback);
    const asked: PendingLookup = { key, hostname, options, askedAt: now, waiting: [callback] };
    underWay.set(key, asked);
    if (mayStart(asked)) start(asked);
    else queue.push(asked);
  };
}

function noAnswer(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`The look-up of ${hostname} gets no answer.`), { code: 'EAI_AGAIN' });
}
