import { z } from 'zod';
import { checkInput } from '../connectors/schemas/validate.ts';
import { effectOfCall, type Effect } from '../connectors/effects.ts';
import type { Base } from '../base.ts';
import { chooseCredential } from '../credentials/choose.ts';
import { requireEnabled } from '../identity/users.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import { assertEnabled, assertServesUser } from '../servers/access.ts';
import type { LiveServer } from '../servers/live-servers.ts';
import { assertEffect, findAllowed } from './find-allowed.ts';
import { assertReads } from './reads.ts';

/** The call to simulate. */
export interface SimulatedCall {
  /** Undefined for a call without a user, which only a server without an owner serves. */
  userId: string | undefined;
  connectorId: string;
  actionId: string;
  /** Checked where it is given. Without it the call has the usual effect of its action. */
  input?: JsonObject | undefined;
}

/** The checks in the order of a real call. */
const CHECKS = ['server', 'user', 'action', 'input', 'credential', 'confirmation'] as const;

/** The expected outcome and its reason: each check up to the first that fails. */
export const simulation = z.object({
  outcome: z.enum(['runs', 'asks', 'denied', 'fails']).meta({
    description:
      '`asks`: runs after the user agrees. `denied`: a rule denies it. `fails`: something else is missing.',
  }),
  rule: z
    .string()
    .optional()
    .meta({ description: 'The restriction that denies the call, or that asks the user.' }),
  code: z.string().optional().meta({ description: 'The error code that the caller would get.' }),
  reason: z.string(),
  effect: z.enum(['read', 'write', 'destructive']).optional(),
  credentialId: z.string().optional(),
  checks: z.array(z.object({ check: z.enum(CHECKS), passed: z.boolean(), detail: z.string() })),
});
type Simulation = z.infer<typeof simulation>;

/** Runs the checks of a real call without calling the third party. */
export async function simulate(
  context: Pick<Base, 'db' | 'catalog'>,
  live: LiveServer,
  call: SimulatedCall,
): Promise<Simulation> {
  const { userId, connectorId, actionId, input } = call;
  const { environment, serverId } = live.server;
  const checks: Simulation['checks'] = [];
  let at: (typeof CHECKS)[number] = 'server';
  const passed = (detail: string, next: (typeof CHECKS)[number] = at) => {
    checks.push({ check: at, passed: true, detail });
    at = next;
  };
  let effect: Effect | undefined;
  try {
    assertEnabled(live);
    passed('The server is switched on.', 'user');
    assertServesUser(live, userId);
    if (userId !== undefined) await requireEnabled(context.db, environment, userId);
    passed(
      userId === undefined
        ? 'The call has no user, and the server needs none.'
        : 'The server serves this user.',
      'action',
    );
    const known = context.catalog.action(environment, connectorId, actionId);
    if (known) effect = effectOfCall(known, input ?? {});
    const { connector, action } = findAllowed(context, {
      environment,
      userId,
      connectorId,
      actionId,
      server: live,
    });
    const effectOf = effectOfCall(action, input ?? {});
    assertEffect(live.decision, action, effectOf);
    assertReads(connector, action, { input: input ?? {}, denies: (read) => live.decision.action(read) });
    const others = action.effects.filter((one) => one !== effectOf).join(' or ');
    passed(
      `No restriction denies ${connectorId}.${actionId}, whose effect is ${effectOf}` +
        `${others === '' ? '' : ` (with other values ${others})`}.`,
      'input',
    );
    if (input) {
      const faults = checkInput(action, input);
      if (faults.length > 0) throw invalidRequest(faults, `The input of ${connectorId}.${actionId}`);
      passed('The input fits the schema.');
    }
    at = 'credential';
    const credential = await chooseCredential(context, { environment, userId, connector, action });
    passed(
      credential ? `The call uses ${credential.credentialId}.` : 'The call needs no credential.',
      'confirmation',
    );
    const rule = live.decision.confirms(effectOf);
    const facts = { effect: effectOf, ...(credential ? { credentialId: credential.credentialId } : {}) };
    if (rule === undefined) {
      passed('The call runs without asking the user.');
      return { outcome: 'runs', reason: `${serverId} would run the call.`, ...facts, checks };
    }
    const reason = `The user is asked first: the server confirms calls whose effect is ${effectOf} (${rule}).`;
    passed(reason);
    return { outcome: 'asks', rule, reason, ...facts, checks };
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    const { code, message: reason, details } = error;
    checks.push({ check: at, passed: false, detail: reason });
    const rule = details?.['rule'];
    return {
      outcome: code === 'restricted' || code === 'forbidden' ? 'denied' : 'fails',
      ...(typeof rule === 'string' ? { rule } : {}),
      code,
      reason,
      ...(effect ? { effect } : {}),
      checks,
    };
  }
}
