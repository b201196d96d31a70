import type { Context as Upstream } from '../upstream/context.ts';
import type { CredentialMemory } from './memory.ts';
import type { AccountChanges, CredentialEvents, SignInClients } from './ports.ts';

/** The parts that credentials use. */
export interface Context extends Upstream {
  readonly operator: CredentialEvents;
  readonly accountChanges: AccountChanges;
  readonly signInClients: SignInClients;
  readonly credentialMemory: CredentialMemory;
}
