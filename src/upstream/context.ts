import type { Base } from '../base.ts';
import type { Throttle } from './throttle.ts';

/** What calls to apps need. */
export interface Context extends Base {
  readonly throttle: Throttle;
}
