import type { Context as Upstream } from '../upstream/context.ts';
import type { AccountChanges, CredentialEvents } from './ports.ts';

/** What credentials need, to be kept, refreshed and checked. */
export interface Context extends Upstream {
  readonly operator: CredentialEvents;
  readonly accountChanges: AccountChanges;
}
