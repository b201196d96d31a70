import { callableAction, type Connector } from '../connectors/catalog.ts';
import { RAW_METHODS } from '../connectors/raw-action.ts';
import { rawFaults } from '../connectors/raw-input.ts';
import { valueFaults } from '../connectors/schemas/value-lists.ts';
import { schemaFaults } from '../connectors/schemas/validate.ts';
import type { Base } from '../base.ts';
import type { Fault } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { Environment } from '../store/environments.ts';
import { eventFaults, findSourceModel, eventScopesOf } from '../connectors/source-model.ts';
import { definitionFaults, readDefinition, type Definition, type Step } from './workflow-definition.ts';
import { bare, expressionFaults, expressionIn, slotsOf, type Names } from './expressions.ts';
import { fieldNames, objectSchema } from './configurable-fields.ts';
import { durationMs, scheduleFaults } from './schedule.ts';

type CheckContext = Pick<Base, 'catalog' | 'clock'>;

/**
 * Checks a definition: its shape, and the steps, connectors, actions, fields and expressions that it names.
 * The values of expressions are known only in a run.
 * @throws GatehouseError `invalid_request` with every fault by path (`definition.steps.0.actionId`).
 */
export async function checkedDefinition(
  context: CheckContext,
  environment: Environment,
  value: Json,
): Promise<Definition> {
  const definition = readDefinition(value);
  const faults = [
    ...triggerFaults(context, environment, definition),
    ...objectFaults(definition.configurableFields, 'configurableFields'),
    ...(await stepsFaults(context, environment, definition)),
  ];
  if (faults.length > 0) throw definitionFaults(faults);
  return definition;
}

function triggerFaults(
  { catalog, clock }: CheckContext,
  environment: Environment,
  { trigger }: Definition,
): Fault[] {
  switch (trigger.type) {
    case 'schedule':
      return scheduleFaults(trigger, clock.now());
    case 'manual': {
      if (!trigger.inputSchema) return [];
      return objectFaults(trigger.inputSchema, 'trigger.inputSchema');
    }
    case 'event': {
      const connector = catalog.connector(environment, trigger.connectorId);
      if (!connector) return [noConnector('trigger.connectorId', trigger.connectorId)];
      const { scope, events = ['created'] } = trigger;
      const model = findSourceModel(connector, scope);
      if (model)
        return eventFaults(model, scope, events).map((fault) => ({
          ...fault,
          field: `trigger.${fault.field}`,
        }));
      const known = eventScopesOf(connector).join(', ') || 'none';
      return [{ field: 'trigger.scope', rule: `is not offered by ${connector.name}; its scopes: ${known}` }];
    }
    default:
      return [];
  }
}

function objectFaults(schema: JsonObject, field: string): Fault[] {
  if (schema['type'] !== undefined && schema['type'] !== 'object')
    return [{ field, rule: 'must have the type "object"' }];
  const faults = schemaFaults(objectSchema(schema), field);
  if (faults.length > 0) return faults;
  return valueFaults(objectSchema(schema)).map(({ path, fault }) => ({
    field: [field, ...path].join('.'),
    rule: fault,
  }));
}

async function stepsFaults(
  context: CheckContext,
  environment: Environment,
  definition: Definition,
): Promise<Fault[]> {
  const faults: Fault[] = [];
  const { steps, configurableFields } = definition;
  const open = configurableFields['additionalProperties'] === true;
  const config = open ? undefined : new Set(fieldNames(configurableFields));
  const allSteps = new Set(steps.map(({ stepId }) => stepId));
  const before = new Set<string>();
  for (const [position, step] of steps.entries()) {
    const at = `steps.${position}`;
    if (before.has(step.stepId)) faults.push({ field: `${at}.stepId`, rule: 'is the name of another step' });
    const names = { steps: new Set(before), allSteps, config, item: false };
    faults.push(...(await stepFaults(context, environment, { definition, place: { step, at, names } })));
    before.add(step.stepId);
  }
  return faults;
}

interface StepPlace {
  step: Step;
  at: string;
  names: Names;
}

async function stepFaults(
  context: CheckContext,
  environment: Environment,
  { definition, place: { step, at, names } }: { definition: Definition; place: StepPlace },
): Promise<Fault[]> {
  const faults: Fault[] = [];
  const inItem = { ...names, item: 'forEach' in step && step.forEach !== undefined };
  if (step.when !== undefined) faults.push(...(await expressionFaults(bare(step.when), `${at}.when`, names)));
  if ('forEach' in step && step.forEach !== undefined)
    faults.push(...(await expressionFaults(bare(step.forEach), `${at}.forEach`, names)));
  if ('map' in step) faults.push(...(await expressionFaults(bare(step.map), `${at}.map`, names)));
  if ('wait' in step) faults.push(...(await waitFaults(step.wait, `${at}.wait`, names)));
  if ('connectorId' in step) {
    faults.push(...actionFaults(context, environment, { step, at }));
    faults.push(...(await inputFaults(step.input, `${at}.input`, inItem)));
  }
  if ('http' in step) {
    const { url, headers = {}, body = null } = step.http;
    faults.push(...hostFaults(url, definition.allowedHosts, `${at}.http.url`));
    faults.push(...(await inputFaults({ url, headers, body }, `${at}.http`, inItem)));
  }
  return faults;
}

async function waitFaults(wait: string, field: string, names: Names): Promise<Fault[]> {
  const expression = expressionIn(wait);
  if (expression !== undefined) return expressionFaults(expression, field, names);
  if (durationMs(wait) !== undefined) return [];
  return [{ field, rule: 'must be an ISO 8601 duration of at most a year, such as PT5M or P3D' }];
}

function actionFaults(
  { catalog }: CheckContext,
  environment: Environment,
  { step, at }: { step: Extract<Step, { connectorId: string }>; at: string },
): Fault[] {
  const connector = catalog.connector(environment, step.connectorId);
  if (!connector) return [noConnector(`${at}.connectorId`, step.connectorId)];
  const action = callableAction(connector, step.actionId);
  if (!action) return [{ field: `${at}.actionId`, rule: `is no action of ${connector.name}` }];
  const { input } = step;
  return [
    ...memberFaults(connector, action.inputSchema, { input, at: `${at}.input` }),
    ...(action.raw ? rawStepFaults(input, `${at}.input`) : []),
  ];
}

/**
 * Checks a raw call as far as its input is known. Its method decides the effect, which restrictions and confirmation
 * need before a run, so it must be known.
 */
function rawStepFaults(input: JsonObject, at: string): Fault[] {
  const { method, path } = input;
  const isKnown = RAW_METHODS.some((one) => one === method);
  const methods = RAW_METHODS.join(', ');
  return [
    ...(isKnown || method === undefined
      ? []
      : [{ field: `${at}.method`, rule: `must be one of ${methods}, and no expression` }]),
    ...rawFaults(isExpression(path) ? { ...input, path: null } : input).map(({ field, rule }) => ({
      field: `${at}.${field}`,
      rule,
    })),
  ];
}

function isExpression(value: Json | undefined): boolean {
  return typeof value === 'string' && expressionIn(value) !== undefined;
}

/** Checks only names, because the values of expressions are known only in a run. */
function memberFaults(
  connector: Connector,
  schema: { [keyword: string]: unknown },
  { input, at }: { input: JsonObject; at: string },
): Fault[] {
  const properties = new Set(Object.keys(Object(schema['properties'] ?? {})));
  const required: unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const faults: Fault[] = [];
  if (schema['additionalProperties'] === false) {
    for (const name of Object.keys(input)) {
      if (properties.has(name)) continue;
      faults.push({
        field: `${at}.${name.slice(0, 64)}`,
        rule: `is no parameter of this action of ${connector.name}`,
      });
    }
  }
  for (const name of required.map(String))
    if (!Object.hasOwn(input, name)) faults.push({ field: `${at}.${name}`, rule: 'is required' });
  return faults;
}

async function inputFaults(input: Json, at: string, names: Names): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const { path, expression } of slotsOf(input))
    faults.push(...(await expressionFaults(expression, [at, ...path].join('.'), names)));
  return faults;
}

function hostFaults(url: string, allowedHosts: string[], field: string): Fault[] {
  if (allowedHosts.length === 0)
    return [{ field: 'allowedHosts', rule: 'must name the host of each http step' }];
  if (expressionIn(url) !== undefined) return [];
  const target = URL.canParse(url) ? new URL(url) : undefined;
  if (!target || !/^https?:$/.test(target.protocol)) return [{ field, rule: 'must be an http(s) address' }];
  if (allowedHosts.includes(target.host)) return [];
  return [{ field, rule: `goes to ${target.host}, which is not among allowedHosts` }];
}

function noConnector(field: string, connectorId: string): Fault {
  return { field, rule: `there is no connector "${connectorId}"` };
}
