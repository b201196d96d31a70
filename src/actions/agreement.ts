import type { Action, Connector } from '../connectors/catalog.ts';
import type { Effect } from '../connectors/effects.ts';
import type { Credential } from '../credentials/credential.ts';
import type { JsonObject } from '../lib/json.ts';

/** A call that the restrictions allow after its user has agreed. */
export interface Question {
  connector: Connector;
  action: Action;
  input: JsonObject;
  /** The effect of this call, by its input. */
  effect: Effect;
  credential: Credential | undefined;
}

/**
 * Returns after the user has agreed.
 * @throws GatehouseError `confirmation_required`, `confirmation_declined`, `confirmation_too_large`
 */
export type Confirm = (question: Question) => Promise<void>;
