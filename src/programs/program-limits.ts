/** Limits of a program. */
export const LIMITS = {
  /** Calls, searches and descriptions together. */
  calls: 256,
  /** Further calls wait for their turn. */
  concurrentCalls: 8,
  cpuSeconds: 30,
  memoryMib: 64,
  /** Characters of the code. */
  code: 64 * 1024,
  /** Bytes of an answer to a call. */
  answer: 10 * 1024 * 1024,
  /** Bytes of the arguments of a call. */
  argument: 1024 * 1024,
  /** Characters of the returned value as JSON. */
  value: 2 * 1024 * 1024,
  /** Bytes of all answers of a program that waits for its user. */
  state: 8 * 1024 * 1024,
};

/** The reason why a program is ended that passes the limit of calls. */
export const TOO_MANY_CALLS = `it makes more than ${LIMITS.calls} calls`;
