import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';

/** What a client can be asked for, by its version and the capabilities that it declared. */
export interface Abilities {
  /** Forms for its person. */
  form: boolean;
  /** Links that its person opens. */
  url: boolean;
  /** Its model. */
  sampling: boolean;
  /** The folders that it works in. */
  roots: boolean;
}

/** A question to a client, as MCP writes it. */
export interface InputRequest {
  method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  params: JsonObject;
}

/** Questions by key. */
export type InputRequests = { [key: string]: InputRequest };

/** Forms came with MCP 2025-06-18, links with the version after it. */
const FIRST_WITH_FORMS = '2025-06-18';
const FIRST_WITH_LINKS = '2025-11-25';

/** Reads declared capabilities; `elicitation: {}` means forms, as it did before there were modes. */
export function abilitiesOf(version: string, capabilities: Json | undefined): Abilities {
  const declared = isJsonObject(capabilities) ? capabilities : {};
  const { elicitation, sampling, roots } = declared;
  const asks = isJsonObject(elicitation) && version >= FIRST_WITH_FORMS ? elicitation : undefined;
  const url = version >= FIRST_WITH_LINKS && isJsonObject(asks?.['url']);
  return {
    form: asks !== undefined && (isJsonObject(asks['form']) || !url),
    url,
    sampling: isJsonObject(sampling),
    roots: isJsonObject(roots),
  };
}

/** The capability that a question needs and the client did not declare, as MCP writes it; undefined when it can be put. */
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
