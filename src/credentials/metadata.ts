import type { Connector } from '../connectors/catalog.ts';
import type { Authentication, CredentialField, JsonSchema } from '../connectors/format/format.ts';
import { credentialFields, FORMATS, isRequired, MAX_VALUE_CHARS } from './fields.ts';

/** The input that one way to authenticate needs. */
export interface AuthenticationMetadata {
  type: Authentication['type'];
  title: string;
  /** The scopes that the consent page lists, unless the OAuth app names others. */
  scopes?: string[];
  /** JSON Schema 2020-12 of `data` when a credential is created. Secret fields are `writeOnly`. */
  inputSchema: JsonSchema;
  /** A filled-in example of `data`. */
  sampleInput: Record<string, string>;
  /** The page where a person finds the values. */
  docsUrl: string | null;
}

const TITLES = {
  bearer: 'Bearer token',
  basic: 'User name and password',
  api_key: 'API key',
  custom: 'Keys of the app',
  oauth2: 'Sign in',
  oauth2_client_credentials: 'Client id and secret',
  token_exchange: 'Keys of the app',
  none: 'No authentication',
} satisfies Record<Authentication['type'], string>;

const SAMPLES = {
  text: undefined,
  multiline: undefined,
  subdomain: 'my-shop',
  host: 'shop.example.com',
  origin: 'https://shop.example.com',
  email: 'name@example.com',
} satisfies Record<CredentialField['format'], string | undefined>;

/** The JSON Schema names of the formats that the standard has. */
const STANDARD = {
  text: undefined,
  multiline: undefined,
  subdomain: undefined,
  host: 'hostname',
  origin: 'uri',
  email: 'email',
} satisfies Record<CredentialField['format'], string | undefined>;

/** Returns every way to authenticate at a connector, in the order of its file. */
export function authenticationMetadata(connector: Connector): AuthenticationMetadata[] {
  return connector.definition.authentication.map((scheme) => {
    const fields = credentialFields(connector, scheme);
    return {
      type: scheme.type,
      title: (scheme.type === 'none' ? undefined : scheme.title) ?? TITLES[scheme.type],
      ...('scopes' in scheme ? { scopes: scheme.scopes } : {}),
      inputSchema: schemaOf(fields),
      sampleInput: Object.fromEntries([...fields].filter(([, field]) => isRequired(field)).map(sampleOf)),
      docsUrl: (scheme.type === 'none' ? undefined : scheme.docsUrl) ?? null,
    };
  });
}

function schemaOf(fields: ReadonlyMap<string, CredentialField>): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: Object.fromEntries([...fields].map(([name, field]) => [name, propertyOf(field)])),
    required: [...fields].filter(([, field]) => isRequired(field)).map(([name]) => name),
    additionalProperties: false,
  };
}

function propertyOf(field: CredentialField): JsonSchema {
  const pattern = field.pattern ?? FORMATS[field.format]?.pattern;
  const format = STANDARD[field.format];
  return {
    type: 'string',
    title: field.title,
    ...(field.description === undefined ? {} : { description: field.description }),
    minLength: 1,
    maxLength: MAX_VALUE_CHARS,
    ...(pattern === undefined ? {} : { pattern }),
    ...(format === undefined ? {} : { format }),
    // A text of several lines, such as a private key in PEM.
    ...(field.format === 'multiline' ? { contentMediaType: 'text/plain' } : {}),
    ...(field.enum === undefined ? {} : { enum: field.enum }),
    ...(field.default === undefined ? {} : { default: field.default }),
    ...(field.example === undefined ? {} : { examples: [field.example] }),
    ...(field.secret ? { writeOnly: true } : {}),
  };
}

function sampleOf([name, field]: [string, CredentialField]): [string, string] {
  return [name, field.example ?? field.enum?.[0] ?? SAMPLES[field.format] ?? `<${field.title}>`];
}
