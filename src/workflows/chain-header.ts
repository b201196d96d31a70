/** Marks the requests of http steps, so that a call trigger continues the chain. */
export const CHAIN_HEADER = 'x-svc-run-chain';

/** Returns the place in a chain that a request of an `http` step names. A false one only ends the sender's own chain. */
export function chainIn(header: string | undefined): number {
  return /^\d{1,6}$/.test(header ?? '') ? Number(header) : 0;
}
