import type { ActionDefinition, Parameter } from './format/format.ts';

/** The place of a parameter in the request. */
export type Place = 'path' | 'query' | 'headers' | 'cookies' | 'body' | 'parts';
export const PLACES: readonly Place[] = ['path', 'query', 'parts', 'headers', 'cookies', 'body'];

/** Returns every parameter of an action with its place, in the order of the places. */
export function parametersOf(
  action: ActionDefinition,
): { place: Place; name: string; parameter: Parameter; required: boolean }[] {
  return PLACES.flatMap((place) =>
    Object.entries(action[place]).map(([name, parameter]) => {
      const required = place === 'path' || parameter.required === true;
      return { place, name, parameter, required };
    }),
  );
}

/** Returns whether a parameter of an action takes an array. */
export function takesArray(definition: ActionDefinition | undefined, name: string): boolean {
  const found = definition && parametersOf(definition).find((one) => one.name === name);
  return found?.parameter['type'] === 'array';
}
