import type { Base } from '../base.ts';
import { STALE_MS } from '../identity/caller.ts';
import { createTtlCache } from '../lib/ttl-cache.ts';
import type { Action } from '../connectors/catalog.ts';
import type { JsonSchema } from '../connectors/format/format.ts';
import { effectOf, effectOfCall, type Effect } from '../connectors/effects.ts';
import type { Decision } from '../servers/restrictions.ts';
import type { Environment } from '../store/environments.ts';
import type { ActionStep, Definition } from './workflow-definition.ts';
import { slotsOf } from './expressions.ts';

/** A workflow that a user has installed and can start directly. */
export interface Runnable {
  workflowId: string;
  name: string;
  inputSchema: JsonSchema;
  /** The definition with all calls that it may make. */
  definition: Definition;
}

const MAX_CACHED = 10_000;
/** Limit of workflow tools; more do not help an agent. */
const MAX_RUNNABLES = 100;

export function createRunnables({ db, clock }: Pick<Base, 'db' | 'clock'>) {
  const cached = createTtlCache<readonly Runnable[]>({ ttlMs: STALE_MS, max: MAX_CACHED, clock });
  return {
    /** Returns a user's runnable workflows, oldest first, at most STALE_MS old. */
    of: (environment: Environment, userId: string) =>
      cached.get(`${environment} ${userId}`, async () => {
        const rows = await db
          .selectFrom('workflow_installations as installed')
          .innerJoin('workflows', 'workflows.workflow_id', 'installed.workflow_id')
          .innerJoin('workflow_versions as of_it', (join) =>
            join
              .onRef('of_it.workflow_id', '=', 'installed.workflow_id')
              .onRef('of_it.version', '=', 'installed.version'),
          )
          .select(['workflows.workflow_id', 'workflows.name', 'of_it.definition'])
          .where('installed.user_id', '=', userId)
          .where('installed.environment', '=', environment)
          .where('installed.trigger_type', '=', 'manual')
          .where('installed.enabled', '=', 1)
          .orderBy('installed.created_at')
          .orderBy('installed.installation_id')
          .limit(MAX_RUNNABLES)
          .execute();
        return rows.length === 0 ? [] : toRunnables(rows);
      }),
  };
}

/** Loads the code for definitions only when a user has some; most tool lists have none. */
async function toRunnables(
  rows: { workflow_id: string; name: string; definition: string }[],
): Promise<Runnable[]> {
  const { storedDefinition } = await import('./workflow-definition.ts');
  const { inputSchema: schemaOf } = await import('./configurable-fields.ts');
  return rows.map(({ workflow_id: workflowId, name, definition: text }) => {
    const definition = storedDefinition(text);
    const { trigger } = definition;
    const declared = trigger.type === 'manual' ? trigger.inputSchema : undefined;
    const inputSchema = schemaOf(declared ?? {});
    return { workflowId, name, inputSchema, definition };
  });
}

/** Returns the effects that the calls of a workflow may have. */
export function effectsOf(
  context: Pick<Base, 'catalog'>,
  environment: Environment,
  { steps }: Definition,
): Effect[] {
  return steps.flatMap((step) => effectsOfStep(context, environment, step));
}

/** Returns the rule of an MCP server that denies one of a workflow's calls or requires confirmation for it. */
export function deniedBy(
  context: Pick<Base, 'catalog'>,
  environment: Environment,
  { definition, decision }: { definition: Definition; decision: Decision },
): string | undefined {
  const rules = definition.steps.map(
    (step) =>
      nameRule(context, environment, { step, decision }) ??
      ruleOfAll(effectsOfStep(context, environment, step), decision.effect),
  );
  const confirms = definition.steps.map((step) =>
    ruleOfAll(effectsOfStep(context, environment, step), decision.confirms),
  );
  return [...rules, ...confirms].find((rule) => rule !== undefined);
}

type Step = Definition['steps'][number];

function nameRule(
  { catalog }: Pick<Base, 'catalog'>,
  environment: Environment,
  { step, decision }: { step: Step; decision: Decision },
): string | undefined {
  if ('http' in step) return decision.named('http', 'request');
  if (!('connectorId' in step)) return undefined;
  const { connectorId, actionId } = step;
  const action = catalog.action(environment, connectorId, actionId);
  return action ? decision.action(action) : decision.named(connectorId, actionId);
}

/**
 * Returns the rule that holds for all effects. A step whose effect depends on values of a run is checked when it
 * runs.
 */
function ruleOfAll(
  effects: readonly Effect[],
  rule: (effect: Effect) => string | undefined,
): string | undefined {
  const rules = effects.map(rule);
  return rules.includes(undefined) ? undefined : rules[0];
}

function effectsOfStep(
  { catalog }: Pick<Base, 'catalog'>,
  environment: Environment,
  step: Step,
): readonly Effect[] {
  if ('http' in step) return [effectOf(step.http.method)];
  if (!('connectorId' in step)) return [];
  const action = catalog.action(environment, step.connectorId, step.actionId);
  // A missing action is treated as destructive.
  if (!action) return ['destructive'];
  return hasOpenEffect(action, step) ? action.effects : [effectOfCall(action, step.input)];
}

/** Returns whether an expression fills a parameter that determines the effect. */
function hasOpenEffect({ definition }: Action, { input }: ActionStep): boolean {
  const open = new Set(slotsOf(input).map(({ path }) => String(path[0])));
  return definition.effectWhen.some(({ parameter }) => open.has(parameter.split('.')[0] ?? ''));
}
