import type { Context as Connect } from '../connect/context.ts';
import type { LiveTopics } from '../runtime/live-topics.ts';
import type { Readiness } from '../runtime/readiness.ts';
import type { Context as Identity } from '../identity/context.ts';
import type { LiveServer } from '../servers/live-servers.ts';
import type { CallTool } from '../servers/tool-call.ts';
import type { ToolListing } from '../servers/tool-listing.ts';
import type { Context as Remote } from '../remote/context.ts';
import type { MetricsPage } from '../telemetry/prometheus.ts';
import type { Context as Workflows } from '../workflows/context.ts';

/** The parts that the REST surface uses. */
export interface Context extends Connect, Workflows, Identity, Remote {
  readonly catalog: Remote['catalog'];
  readonly operator: Workflows['operator'];
  /** The checks behind /ready. */
  readonly readiness: Readiness;
  /** Returns the page of /metrics. */
  metricsPage(): Promise<MetricsPage>;
  /** Notifications for open pages of the console. */
  readonly liveTopics: LiveTopics;
  /** True after a stop was requested; /ready reports it, so that a load balancer sends requests elsewhere. */
  readonly stopping: boolean;
  /** Returns the tools that a server lists to the clients of a user. */
  toolsOf(live: LiveServer, userId: string | undefined): Promise<ToolListing>;
  /** Calls a tool as an agent of a user would. */
  readonly callTool: CallTool;
}
