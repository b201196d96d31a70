import type { Context as Credentials } from '../credentials/context.ts';

/** What connect links and sign-ins need. */
export interface Context extends Credentials {
  /** Whether this process listens on a port and can serve the links that it makes. */
  readonly serving: boolean;
}
