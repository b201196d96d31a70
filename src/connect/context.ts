import type { Context as Credentials } from '../credentials/context.ts';

/** The parts that connect links and sign-ins use. */
export interface Context extends Credentials {
  /** Whether this process listens on a port and can serve the links that it makes. */
  readonly serving: boolean;
}
