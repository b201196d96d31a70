import type { PollCommits } from './polling/poll-commits.ts';
import type { ManualAddress } from './webhooks/manual-address.ts';
import type { HookSender } from './webhooks/senders.ts';
import type { ArrivedHook } from './webhooks/hook-request.ts';
import type { HeldRoom } from '../lib/http/http-body.ts';
import type { Context as Outbox } from '../outbox/context.ts';
import type { Operator } from '../outbox/operator-events.ts';
import type { TurnOptions } from '../runtime/loop.ts';
import type { Context as Unified } from '../unified/context.ts';

/** The parts that polls and received webhooks use. */
export interface Context extends Unified, Outbox {
  /** Notifies the operator of an environment. */
  readonly operator: Operator;
  /** Polls, received webhooks and registrations. They run for sources that have consumers. */
  readonly sources: Sources;
  readonly pollCommits: PollCommits;
}

/** The answer to an app. */
export interface Accepted {
  status: number;
  body: string;
  contentType: string;
}

/** Receives webhooks of apps. */
export interface Intake {
  /**
   * Finds the app that posts to an address, before anything of a body is read.
   * @throws GatehouseError `not_found` for an unknown address.
   */
  expect(connectorId: string, token: string): Promise<HookSender | ManualAddress>;
  /** Reserves memory for the body of a webhook. Dispose it after accept(). */
  hold(sender: HookSender | ManualAddress): HeldRoom;
  /**
   * Receives a webhook. It checks the signature by the scheme of the connector file. It stores the webhook
   * once by the app's event id, and returns only after the commit. The commit also publishes the events,
   * unless a record must first be read at the app.
   * @throws GatehouseError `unauthorized` for a wrong signature, `invalid_request` for a body of too many
   * events or one that is not JSON, `not_found` or `unavailable` when the source ended or changed its account at the same
   * time, and those of readHookBody().
   */
  accept(sender: HookSender | ManualAddress, arrived: ArrivedHook): Promise<Accepted>;
}

/** One turn of a loop: claims and starts due work, at most `freeSlots` items. Returns the started work. */
export type SourceTurn = (context: Context, options: TurnOptions) => Promise<Promise<unknown>[]>;

/** Loops that collect events: stored webhooks, polls and jobs. */
export interface Sources {
  start(context: Context): void;
  /** Starts a turn of each loop, because work is due: a webhook arrived, or a subscription was created. */
  wake(): void;
  /** Returns the intake for webhooks of apps. */
  intake(context: Context): Promise<Intake>;
  close(): Promise<void>;
}
