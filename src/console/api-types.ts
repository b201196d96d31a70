import type { components, operations } from '../../data/api-types.ts';
import type { SentTo, ValueOf } from '../client/operation-types.ts';

/* The answers of the API that the console shows, from the types of the client, which the routes print. */

export type Schemas = components['schemas'];
export type ExecutionEntry = Schemas['Execution'];
export type ExecutionRecord = Schemas['ExecutionDetails'];
export type DeliverySummary = Schemas['DeliverySummary'];
export type ExecutionSummary = Schemas['ExecutionSummary'];
export type OpenCircuit = Schemas['OpenCircuit'];
export type Overview = Schemas['Overview'];
export type ProblemReport = Schemas['ProblemReport'];
export type FruitlessSearch = Schemas['FruitlessSearch'];

export type ServerRecord = Schemas['Server'];
export type ToolMode = ServerRecord['toolMode'];
export type Restrictions = Schemas['Restrictions'];
export type Circuit = Schemas['Circuit'];
export type Budget = Schemas['Budget'];
export type ServerTools = ValueOf<operations['listServerTools']>;
/** The result of a tool, or a question to its user. */
export type ToolAnswer = Schemas['ToolCallResult'];
export type Simulation = ValueOf<operations['simulateCall']>;
export type PastSimulation = ValueOf<operations['simulatePast']>;

export type UserRecord = Schemas['User'];
export type CredentialRecord = Schemas['Credential'];
export type KeyRecord = Schemas['ApiKey'];
export type AuditEntry = Schemas['AuditEntry'];
export type SettingsRecord = Schemas['Settings'];

export type OAuthAppRecord = Schemas['OAuthApp'];
/** A scope of a key or a person. */
export type Scope = SentTo<operations['createKey']>['body']['scopes'][number];
export type ConnectorRecord = Schemas['Connector'];
export type ConnectorDetails = Schemas['ConnectorDetails'];
export type ActionRecord = Schemas['Action'] & { inputSchema: JsonSchema };
export type Effect = ActionRecord['effect'];

/** The keywords of JSON Schema that the console reads. */
export interface JsonSchema {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  enum?: unknown[];
  /** Titles of `enum`, in earlier versions of MCP. */
  enumNames?: string[];
  oneOf?: JsonSchema[];
  anyOf?: JsonSchema[];
  const?: unknown;
  default?: unknown;
  examples?: unknown[];
  format?: string;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  items?: JsonSchema;
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
}

/** A step as a definition has it. */
export interface DefinedStep {
  stepId: string;
  connectorId?: string;
  actionId?: string;
  input?: Record<string, unknown>;
  http?: { method?: string };
  map?: string;
  wait?: string;
  when?: string;
  forEach?: string;
  onError?: unknown;
}

/** The members of a workflow's definition that the console reads. The API says nothing of its members. */
export interface Defined {
  definition: {
    trigger?: { type: string; cron?: string; scope?: string };
    configurableFields?: JsonSchema;
    steps?: DefinedStep[];
  };
}

export type VersionRecord = Schemas['WorkflowVersion'] & Defined;
export type WorkflowRecord = Schemas['Workflow'] & Defined;
export type InstallationRecord = Schemas['Installation'];
export type RunRecord = Schemas['Run'];
export type RunDetails = Schemas['RunDetails'];
export type StepRecord = RunDetails['steps'][number];

export type SubscriptionRecord = Schemas['Subscription'];
export type DeliveryRecord = Schemas['Delivery'];
export type AttemptRecord = Schemas['Delivery']['attempts'][number];
