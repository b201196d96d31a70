import type { DefinedStep, Effect } from './api-types.ts';
import { isObject } from './rest-client.ts';

/** Returns the steps of a definition, which a person may be typing. */
export function stepsIn({ steps }: { steps?: unknown }): DefinedStep[] {
  const some: unknown[] = Array.isArray(steps) ? steps : [];
  return some.filter((one): one is DefinedStep => isObject(one) && typeof one['stepId'] === 'string');
}

/** Returns the work of a step in a few words, such as `shop.list_orders`. */
export function workOf({ connectorId, actionId, http, map, wait }: DefinedStep): string {
  if (actionId !== undefined) return `${connectorId}.${actionId}`;
  if (http) return `http ${http.method ?? ''}`.trim();
  if (wait !== undefined) return `wait ${wait}`;
  return map === undefined ? 'step' : 'map';
}

/** Returns the effect of an http step. */
export function effectOfHttp({ method = 'GET' }: { method?: string }): Effect {
  if (method === 'GET' || method === 'HEAD') return 'read';
  return method === 'DELETE' ? 'destructive' : 'write';
}

/** Returns the earlier steps whose results a step reads, as far as its text shows. */
export function readBy(step: DefinedStep, steps: readonly DefinedStep[]): string[] {
  const named = new Set([...JSON.stringify(step).matchAll(/\bsteps\.([A-Za-z]\w*)/g)].map(([, id]) => id));
  const before = steps.slice(
    0,
    steps.findIndex((one) => one.stepId === step.stepId),
  );
  return before.map(({ stepId }) => stepId).filter((id) => named.has(id));
}

/** Returns what the test of this step alone does not show, and why. */
export function limitsOf({ wait, forEach, when, onError, map }: DefinedStep): string[] {
  return [
    ...(wait === undefined
      ? []
      : ['The wait does not pass, because no later step runs. The test computes its end.']),
    ...(map === undefined ? [] : ['A map calls no app. The test computes its value.']),
    ...(forEach === undefined
      ? []
      : ['Only the first item runs, because each item has an effect. The whole draft runs all of them.']),
    ...(when === undefined ? [] : ['The condition counts: unless it is true, the step is skipped.']),
    ...(onError === undefined || onError === 'stop'
      ? []
      : ['The first failure ends the test, so that you see it. Retries and “continue” count in whole runs.']),
  ];
}
