import { z } from 'zod';
import type { Base } from '../../base.ts';
import { findOperatorSubscription, OPERATOR_EVENTS } from '../../outbox/operator-events.ts';
import { setEventsAddress } from '../../subscriptions/operator-address.ts';
import { personInWords } from '../../identity/people.ts';
import { listAudit, type AuditRow } from '../../runtime/audit.ts';
import { publicKeys } from '../../identity/user-tokens.ts';
import { isoTime } from '../../lib/clock.ts';
import { memoByText } from '../../lib/memo.ts';
import { assertCoherent } from '../../servers/restrictions.ts';
import type { Environment } from '../../store/environments.ts';
import { changeSettings, readSettings, settingsSchema } from '../../servers/environment-settings.ts';
import { storeDocument } from '../server/stored-document.ts';
import { defineRoute } from '../server/route.ts';
import { cursorQuery, instant, pageOf, time, toCursorPage } from '../server/shapes.ts';

const settingsAnswer = settingsSchema
  .extend({
    eventsAddress: z
      .string()
      .nullable()
      .meta({
        description: `Address for the events of this environment: ${OPERATOR_EVENTS.join(', ')}.`,
      }),
    eventsSubscriptionId: z.string().optional().meta({
      description: 'Subscription of these events, for /webhooks/{subscriptionId}/….',
    }),
  })
  .meta({ id: 'Settings', description: 'Settings of an environment.' });

/** The settings that a request may change. */
export const settingsBody = z.strictObject({
  userServers: settingsSchema.shape.userServers.unwrap().optional(),
  userServerRestrictions: settingsSchema.shape.userServerRestrictions.unwrap().optional(),
  origins: settingsSchema.shape.origins.unwrap().optional(),
  redirectUris: settingsSchema.shape.redirectUris.unwrap().optional(),
  branding: settingsSchema.shape.branding.unwrap().optional(),
  payloads: settingsSchema.shape.payloads.unwrap().optional(),
  payloadDays: settingsSchema.shape.payloadDays.unwrap().optional(),
  searchLearning: settingsSchema.shape.searchLearning.unwrap().optional(),
  eventsAddress: z.string().min(1).nullable().optional().meta({
    description: 'An https address; null stops the events. They are signed like all deliveries.',
  }),
});

const auditEntry = z
  .object({
    auditId: z.string(),
    at: time,
    requestId: z.string(),
    caller: z.string(),
    keyName: z.string().nullable(),
    personName: z.string().nullable().meta({
      description: 'Name and address of the person who signed in to the console with OpenID Connect.',
    }),
    operation: z.string(),
    target: z.string().nullable(),
    status: z.int(),
    hash: z.string().nullable(),
    previousHash: z.string().nullable(),
  })
  .meta({ id: 'AuditEntry', description: 'One act of administration.' });

/** A value of a filter. Excludes characters that a database rejects. */
const word = z.string().regex(/^[\x20-\x7e]{1,200}$/, 'must be 1 to 200 printable ASCII characters');

/** Operator events are a subscription, which stores their address. */
async function eventsSettings({ db }: Pick<Base, 'db'>, environment: Environment) {
  const row = await findOperatorSubscription(db, environment);
  if (!row) return { eventsAddress: null };
  return { eventsAddress: row.address, eventsSubscriptionId: row.subscription_id };
}

export const getSettingsRoute = defineRoute({
  method: 'GET',
  path: '/api/settings',
  operationId: 'getSettings',
  tag: 'Administration',
  summary: 'Read the settings of the environment',
  auth: 'api_key',
  scope: 'settings:read',
  success: { status: 200, description: 'The settings.', schema: settingsAnswer },
  async handler({ context, caller }) {
    const settings = await readSettings(context.db, caller.environment);
    return { body: { ...settings, ...(await eventsSettings(context, caller.environment)) } };
  },
});

export const putSettingsRoute = defineRoute({
  method: 'PUT',
  path: '/api/settings',
  operationId: 'putSettings',
  tag: 'Administration',
  summary: 'Change the settings of the environment',
  description: 'Changes only the given members. Replaces lists and restrictions whole.',
  auth: 'api_key',
  scope: 'settings:write',
  body: settingsBody,
  success: {
    status: 200,
    description: 'The settings as they are now.',
    schema: settingsAnswer.extend({
      eventsSecret: z.string().optional().meta({
        description: 'Signs the events of `eventsAddress`. Shown only when the address is first set.',
      }),
    }),
  },
  audited: true,
  async handler({ context, caller: { environment }, body: { eventsAddress, ...changes } }) {
    if (changes.userServerRestrictions)
      assertCoherent(changes.userServerRestrictions, 'userServerRestrictions');
    const made =
      eventsAddress === undefined ? undefined : await setEventsAddress(context, environment, eventsAddress);
    const settings = await changeSettings(context, environment, changes);
    context.servers.forget();
    return {
      body: {
        ...settings,
        ...(await eventsSettings(context, environment)),
        ...(made?.secret === undefined ? {} : { eventsSecret: made.secret }),
      },
    };
  },
});

export const listAuditRoute = defineRoute({
  method: 'GET',
  path: '/api/audit',
  operationId: 'listAudit',
  tag: 'Administration',
  summary: 'Read the audit log',
  description:
    'Newest first: who changed what, and who was shown an access token. Offsets end at 10,000: from there on, or ' +
    'from the start, follow `pagination.nextCursor` with `cursor`.',
  auth: 'api_key',
  scope: 'audit:read',
  query: z.strictObject({
    ...cursorQuery,
    since: instant.optional(),
    until: instant.optional(),
    caller: word.optional(),
    operation: word.optional(),
    target: word.optional(),
  }),
  success: {
    status: 200,
    description: 'A page of entries.',
    schema: pageOf(auditEntry),
  },
  async handler({ context, caller, query }) {
    const { entries, ...end } = await listAudit(context.db, caller.environment, query);
    const data = entries.map((entry) => ({
      auditId: entry.audit_id,
      at: isoTime(entry.at),
      requestId: entry.request_id,
      caller: entry.caller,
      keyName: entry.key_name,
      personName: personNameOf(entry),
      operation: entry.operation,
      target: entry.target,
      status: entry.status,
      hash: entry.hash,
      previousHash: entry.previous_hash,
    }));
    return { body: toCursorPage(data, end) };
  },
});

function personNameOf({ caller, person_name: name, person_email: email }: AuditRow): string | null {
  const [kind, personId = ''] = caller.split(':');
  return kind === 'person' ? personInWords({ name, email, personId }) : null;
}

const JWKS_HEADERS = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'public, max-age=300',
};
/** Key sets in the form that is sent. */
const jwksDocument = memoByText(4, (text) => storeDocument(text, JWKS_HEADERS));

export const jwksRoute = defineRoute({
  method: 'GET',
  path: '/.well-known/jwks.json',
  operationId: 'getJwks',
  tag: 'Service',
  summary: 'Public keys of user JWTs',
  auth: 'none',
  success: {
    status: 200,
    description: 'A JWK Set (RFC 7517).',
    schema: z.object({ keys: z.array(z.record(z.string(), z.unknown())) }),
  },
  async handler({ context, header }) {
    return jwksDocument(JSON.stringify(await publicKeys(context))).reply(header);
  },
});
