import { asObject, isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';

/** Abilities of a client, by its version and declared capabilities. */
export interface Abilities {
  /** Forms for the client's user. */
  form: boolean;
  /** Links that the client's user opens. */
  url: boolean;
  /** Completions by the client's model. */
  sampling: boolean;
  /** The folders that the client works in. */
  roots: boolean;
  /** HTML documents next to the results of tools (MCP Apps). Nothing is requested, the client reads them. */
  views: boolean;
}

/** The media type of documents of MCP Apps, and the name of the extension (MCP Apps 2026-01-26). */
export const VIEW_TYPE = 'text/html;profile=mcp-app';
const VIEWS = 'io.modelcontextprotocol/ui';

/** A request for input to the client, in MCP's wire form. */
export interface InputRequest {
  method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  params: JsonObject;
}

/** Requests for input by key. */
export type InputRequests = { [key: string]: InputRequest };

/** MCP 2025-06-18 introduced forms, and MCP 2025-11-25 introduced links. */
const FIRST_WITH_FORMS = '2025-06-18';
const FIRST_WITH_LINKS = '2025-11-25';

/** Reads declared capabilities. `elicitation: {}` means forms, because the first versions had no modes. */
export function abilitiesOf(version: string, capabilities: Json | undefined): Abilities {
  const declared = asObject(capabilities);
  const { elicitation, sampling, roots, extensions } = declared;
  const { mimeTypes } = asObject(asObject(extensions)[VIEWS]);
  const modes = isJsonObject(elicitation) && version >= FIRST_WITH_FORMS ? elicitation : undefined;
  const url = version >= FIRST_WITH_LINKS && isJsonObject(modes?.['url']);
  return {
    form: modes !== undefined && (isJsonObject(modes['form']) || !url),
    url,
    sampling: isJsonObject(sampling),
    roots: isJsonObject(roots),
    views: Array.isArray(mimeTypes) && mimeTypes.includes(VIEW_TYPE),
  };
}

/**
 * Returns the capability, in MCP's wire form, that a request needs and the client did not declare. Returns undefined
 * when the client supports the request.
 */
export function missingFor(abilities: Abilities, { method, params }: InputRequest): JsonObject | undefined {
  switch (method) {
    case 'sampling/createMessage':
      return abilities.sampling ? undefined : { sampling: {} };
    case 'roots/list':
      return abilities.roots ? undefined : { roots: {} };
    case 'elicitation/create': {
      const mode = params['mode'] === 'url' ? 'url' : 'form';
      return abilities[mode] ? undefined : { elicitation: { [mode]: {} } };
    }
  }
}
