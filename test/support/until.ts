/** Ends what hangs. A busy machine may take many times as long as usual, and a wait that gives up early finds nothing. */
export const PATIENCE_MS = 90_000;

/**
 * Polls until a condition holds. The polls become less frequent, because each may be a request.
 * @throws Error when the time is over, with the text of `state`
 */
export async function until(
  holds: () => boolean | Promise<boolean>,
  { withinMs = PATIENCE_MS, state = (): string => 'the condition does not hold' } = {},
): Promise<void> {
  const end = Date.now() + withinMs;
  for (let pauseMs = 5; !(await holds()); pauseMs = Math.min(50, pauseMs * 1.25)) {
    if (Date.now() > end) throw new Error(`after ${withinMs} ms: ${state()}`);
    await new Promise((next) => setTimeout(next, pauseMs));
  }
}
