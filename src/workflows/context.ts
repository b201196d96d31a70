import type { LiveServers } from '../servers/live-servers.ts';
import type { Context as Sources } from '../sources/context.ts';
import type { EventTriggers } from '../outbox/ports.ts';

/** The parts that workflows use. */
export interface Context extends Sources {
  readonly servers: LiveServers;
  /** Starts and continues workflow runs, in serving processes. */
  readonly runs: Runs;
}

/** Runs workflows: started by events and schedules, continued until they end. */
export interface Runs extends EventTriggers {
  /** Serves schedules and runs from now on. */
  start(context: Context): void;
  /** Signals that a run is due. A process that does not serve starts to execute runs here. */
  wake(context?: Context): void;
  close(): Promise<void>;
}
