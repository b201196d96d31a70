import { z } from 'zod';

/* The parts of the OpenAPI document that the reference prints. */

const anySchema = z.looseObject({});
const content = z.record(z.string(), z.looseObject({ schema: anySchema, example: z.unknown().optional() }));

const operation = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  description: z.string().optional(),
  tags: z.array(z.string()).min(1),
  security: z.array(z.record(z.string(), z.unknown())).default([]),
  'x-scope': z.string().optional(),
  parameters: z.array(
    z.looseObject({
      name: z.string(),
      in: z.enum(['path', 'query', 'header']),
      required: z.boolean(),
      description: z.string().default(''),
      schema: anySchema,
    }),
  ),
  requestBody: z.looseObject({ content, description: z.string().optional() }).optional(),
  responses: z.record(z.string(), z.looseObject({ description: z.string(), content: content.optional() })),
});

const document = z.looseObject({
  info: z.looseObject({ description: z.string() }),
  tags: z.array(z.object({ name: z.string(), description: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({ schemas: z.record(z.string(), anySchema) }),
  'x-scopes': z.record(z.string(), z.string()),
});

export type OpenApi = z.infer<typeof document>;
export type Operation = z.infer<typeof operation>;
export type JsonSchema = z.infer<typeof anySchema>;

/** An operation with the method and the path of its requests. */
export interface Endpoint {
  method: string;
  path: string;
  operation: Operation;
}

export function readOpenApi(value: unknown): OpenApi {
  return document.parse(value);
}

/** Returns the operations by tag, in the order of the document. */
export function endpointsByTag({ paths }: OpenApi): Map<string, Endpoint[]> {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => ({ method: method.toUpperCase(), path, operation: one })),
  );
  return Map.groupBy(all, ({ operation: { tags } }) => tags[0] ?? '');
}
