/** The stream of an answer ended before the answer. */
export class StreamBroken extends Error {
  override readonly name = 'StreamBroken';
}

/** The server did not answer in time. Time that a person takes to answer a question does not count. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
}

/** Returns a failure as an error. */
export function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error('The answer cannot be read.', { cause: error });
}
