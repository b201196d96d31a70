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

/** A look-up that holds a thread. */
interface Begun {
  beganAt: number;
  /** Its name did not answer before, or is late. */
  isDoubtful: boolean;
}

interface Failure {
  error: NodeJS.ErrnoException;
  at: number;
}

/**
 * Eight are looked up at a time, for libuv gives half of its threads to look-ups and bin/gatehouse.js sets sixteen. Six are
 * anybody's, of which names that failed before have two.
 */
const ANYBODY_AT_ONCE = 6;
const FAILED_AT_ONCE = 2;
/**
 * Names that answered before go beyond these, two at a time: one that is late is doubtful, so those that went silent have
 * seven turns at most. The last one is left to names that answered since those under way began.
 */
const KNOWN_AT_ONCE = 2;
const ANSWERED_BEFORE_AT_ONCE = 7;
const AT_ONCE = 8;
/** A name that takes longer is not counted among those that answer. */
const SLOW_MS = SECOND;
/** While one takes longer, whether it will answer is doubtful. */
const LATE_MS = 250;
/** As long as a connection may take: who asked first has given up by then. */
const GIVEN_UP_MS = 10 * SECOND;
/** Less than any delivery waits for its first retry, which is to ask anew. */
const FAILURE_REMEMBERED_MS = 2 * SECOND;
const MAX_NAMES = 1000;

/**
 * Looks names up so that those whose DNS does not answer hold up no others: a look-up cannot be ended, and takes a thread
 * for ten seconds or more. One under way is shared, a failure holds for two seconds, and the last turns are left to names
 * that are known to answer, whatever others there are. No answer is kept: a connection has its name looked up anew.
 */
export function shareLookups(lookup: Lookup = dnsLookup, clock: Clock = systemClock): Lookup {
  const underWay = new Map<string, Asked>();
  /** In the order in which they began. */
  const begun = new Set<Begun>();
  /** When each name that answers did so last. */
  const answering = new Map<string, number>();
  /** The last one of each name that has not answered since. */
  const failures = new Map<string, Failure>();
  const queue: Asked[] = [];
  /** Under way, of names that may not answer. */
  let doubtful = 0;

  /** While how many are under way a name may begin. */
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
    // Of names that went silent together, those that answer still answered last.
    let best: Asked | undefined;
    for (const asked of queue)
      if (mayBegin(asked) && (!best || lastAnswer(asked) > lastAnswer(best))) best = asked;
    return best;
  };

  const lastAnswer = ({ hostname }: Asked): number => answering.get(hostname) ?? 0;

  /** What nobody waits for any more would hold a thread for nothing. */
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
