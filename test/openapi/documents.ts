import { importOpenApi, MEBIBYTE, type Imported, type ImportOptions } from '../../src/openapi/import.ts';

/** Imports a document of a test with options of REST: one document, 10 MiB. */
export function imported(document: object | string, options: Partial<ImportOptions> = {}): Imported {
  const text = typeof document === 'string' ? document : JSON.stringify(document);
  return importOpenApi(text, { maxBytes: 10 * MEBIBYTE, today: '2026-11-23', ...options });
}

/** Returns a document of OpenAPI 3.0 with these paths. */
export function documentWith(paths: object, more: object = {}): object {
  return {
    openapi: '3.0.3',
    info: { title: 'Desk', version: '1' },
    servers: [{ url: 'https://api.desk.example' }],
    paths,
    ...more,
  };
}

/** Returns an operation with a JSON answer. */
export function operation(more: object = {}, answer: object = { type: 'object' }): object {
  return { responses: { 200: { content: { 'application/json': { schema: answer } } } }, ...more };
}

/** Returns the message of the refusal of a document. */
export function refusalOf(document: object | string, options: Partial<ImportOptions> = {}): string {
  const outcome = importedOrRefusal(document, options);
  return typeof outcome === 'string' ? outcome : 'it was imported';
}

/** Imports a document, or returns the message of its refusal. */
export function importedOrRefusal(
  document: object | string,
  options: Partial<ImportOptions> = {},
): Imported | string {
  try {
    return imported(document, options);
  } catch (error) {
    if (error instanceof Error && error.name === 'GatehouseError') return error.message;
    throw error;
  }
}
