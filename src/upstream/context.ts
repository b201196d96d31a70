import type { Base } from '../base.ts';
import type { RemoteSessions } from './remote/remote-sessions.ts';
import type { Throttle } from './throttle.ts';

/** The parts that calls to apps use. */
export interface Context extends Base {
  readonly throttle: Throttle;
  readonly remoteSessions: RemoteSessions;
}
