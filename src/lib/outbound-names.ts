import { lookup as dnsLookup, type LookupAddress, type LookupAllOptions } from 'node:dns';
import { SECOND, systemClock, type Clock } from './clock.ts';

/** All addresses of a name, as dns.lookup() gives them. */
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

interface Failure {
  error: NodeJS.ErrnoException;
  at: number;
}

/**
 * Eight are looked up at a time, for libuv gives half of its threads to look-ups and bin/gatehouse.js sets sixteen. What is
 * beyond these is left to names that answer; what failed before leaves some to names that nobody has asked for yet.
 */
const UNKNOWN_AT_ONCE = 6;
const FAILED_AT_ONCE = 2;
/** A name that takes longer is not counted among those that answer. */
const SLOW_MS = SECOND;
/** As long as a connection may take: who asked first has given up by then. */
const GIVEN_UP_MS = 10 * SECOND;
const FAILURE_REMEMBERED_MS = 5 * SECOND;
const MAX_NAMES = 1000;

/**
 * Looks names up so that those whose DNS does not answer hold up no others: a look-up cannot be ended, and takes a thread
 * for ten seconds or more. One under way is shared, a failure holds for a few seconds, and only names that are known to
 * answer are looked up at once, whatever others there are. No answer is kept: a connection has its name looked up anew.
 */
export function shareLookups(lookup: Lookup = dnsLookup, clock: Clock = systemClock): Lookup {
  const underWay = new Map<string, Asked>();
  const answering = new Set<string>();
  /** The last one of each name that has not answered since. */
  const failures = new Map<string, Failure>();
  const queue: Asked[] = [];
  /** Of names that are not known to answer. */
  let doubtful = 0;

  const mayBegin = ({ hostname }: Asked): boolean =>
    answering.has(hostname) || doubtful < (failures.has(hostname) ? FAILED_AT_ONCE : UNKNOWN_AT_ONCE);

  const begin = (asked: Asked): void => {
    const { key, hostname, options, waiting } = asked;
    const isDoubtful = !answering.has(hostname);
    if (isDoubtful) doubtful++;
    const beganAt = clock.now();
    lookup(hostname, options, (error, addresses) => {
      underWay.delete(key);
      if (isDoubtful) doubtful--;
      remember(hostname, error, beganAt);
      beginWaiting();
      for (const tell of waiting) tell(error, addresses);
    });
  };

  const beginWaiting = (): void => {
    for (let at = queue.findIndex(mayBegin); at >= 0; at = queue.findIndex(mayBegin)) {
      for (const asked of queue.splice(at, 1)) begin(asked);
    }
  };

  const remember = (hostname: string, error: NodeJS.ErrnoException | null, beganAt: number): void => {
    const now = clock.now();
    answering.delete(hostname);
    failures.delete(hostname);
    if (error) failures.set(hostname, { error, at: now });
    else if (now - beganAt < SLOW_MS) answering.add(hostname);
    // The oldest go first.
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
