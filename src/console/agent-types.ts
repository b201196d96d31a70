/* Records about what agents do, as the API returns them. */

/** A problem that an agent reported. */
export interface ProblemReport {
  reportId: string;
  at: string;
  serverId: string;
  userId: string | null;
  tool: string | null;
  message: string;
}

/** A query that led to no execution. */
export interface FruitlessSearch {
  query: string;
  count: number;
  lastAt: string;
}

/** An action of an account whose calls are stopped. */
export interface OpenCircuit {
  connectorId: string;
  actionId: string;
  credentialId: string | null;
  userId: string | null;
  failures: number;
  failedAt: string;
  closesAt: string;
}
