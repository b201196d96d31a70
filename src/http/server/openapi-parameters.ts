import { z } from 'zod';
import { fieldText } from './openapi-fields.ts';
import type { RouteFacts } from './route.ts';
import type { Components, SchemaObject } from './openapi-schemas.ts';

/** Common error statuses. The OpenAPI document marks every other error status with `x-beyond-spec`. */
export const SPEC_STATUSES = new Set([400, 401, 403, 404, 409, 429]);

/** Returns an OpenAPI parameter object, described by its schema. */
export function parameter(
  place: string,
  name: string,
  { schema, required }: { schema: SchemaObject; required: boolean },
): SchemaObject {
  const { description, ...rest } = schema;
  return { name, in: place, required, ...(description ? { description } : {}), schema: rest };
}

/** Returns the parameters of a route in its path, query and headers. */
export function parametersOf(spec: RouteFacts, components: Components): SchemaObject[] {
  return [
    ...membersOf(spec, spec.params, components).map(([name, schema]) =>
      parameter('path', name, { schema, required: true }),
    ),
    ...membersOf(spec, spec.query, components).map(([name, schema, required]) =>
      parameter('query', name, { schema, required }),
    ),
    ...headerParameters(spec),
  ];
}

const USER_RULES = {
  required: 'The end user on whose behalf this is done.',
  existing: 'The end user whose data is read. Data of other users is not found.',
  owner: 'User for ownership or filtering.',
};

function headerParameters(spec: RouteFacts): SchemaObject[] {
  const header = (
    name: string,
    {
      description,
      required,
      schema = {},
    }: { description: string | undefined; required: boolean; schema?: SchemaObject | undefined },
  ) => {
    const text = fieldText(name);
    const examples = text?.example === undefined ? {} : { examples: [text.example] };
    const described = {
      type: 'string',
      ...schema,
      ...examples,
      description: description ?? text?.description,
    };
    return parameter('header', name, { schema: described, required });
  };
  return [
    ...(spec.apiVersion
      ? [header('x-api-version', { description: undefined, required: true, schema: { enum: ['2025-09'] } })]
      : []),
    ...(spec.user
      ? [header('x-svc-userid', { description: USER_RULES[spec.user], required: spec.user === 'required' })]
      : []),
    ...Object.entries(spec.headers ?? {}).map(([name, description]) =>
      header(name, { description, required: false }),
    ),
  ];
}

const object = z.looseObject({
  properties: z.record(z.string(), z.looseObject({})).default({}),
  required: z.array(z.string()).default([]),
});

function membersOf(
  { operationId }: RouteFacts,
  schema: z.ZodType | undefined,
  components: Components,
): [name: string, schema: SchemaObject, required: boolean][] {
  if (!schema) return [];
  const { properties, required } = object.parse(components.schemaOf(schema, 'input', operationId));
  return Object.entries(properties).map(([name, property]) => [name, property, required.includes(name)]);
}
