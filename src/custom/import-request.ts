import { z } from 'zod';

const list = z.array(z.string().min(1).max(500)).min(1).max(1000).optional();

/** The operations that an import chooses; one must fit each list that is given. */
export const importInclude = z
  .strictObject({
    tags: list.meta({ description: 'Tags; one of them must be on the operation.' }),
    paths: list.meta({ description: 'Paths of the document; `*` stands for any characters.' }),
    methods: list.meta({ description: 'Methods, such as `GET`.' }),
  })
  .meta({ id: 'ImportInclude', description: 'The operations to import; all that fit each given list.' });
export type ImportInclude = z.infer<typeof importInclude>;

/** An OpenAPI document in a request. */
export const openApiDocument = z
  .strictObject({
    document: z
      .union([z.string(), z.record(z.string(), z.unknown())], 'must be an object, or JSON or YAML text')
      .meta({ description: 'The document (2.0, 3.0 or 3.1) without references to other documents.' }),
    connectorId: z
      .string()
      .regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -')
      .optional()
      .meta({ description: 'Default: made from the title of the document.' }),
    include: importInclude.optional(),
  })
  .meta({ id: 'OpenApiImport', description: 'An OpenAPI document whose operations become actions.' });

/** Members of a request next to the document. */
export const importOptions = {
  acceptBreaking: z.boolean().optional().meta({
    description: 'Whether an import that breaks callers is stored. Default: false.',
  }),
  dryRun: z.boolean().optional().meta({
    description:
      'Whether to check all, store nothing, and only return the report and the changes. Default: false.',
  }),
};

/** A request with a document as a whole, which the process of imports parses. */
export const importRequest = z.strictObject({ openapi: openApiDocument, ...importOptions });
export type ImportRequest = z.infer<typeof importRequest>;
