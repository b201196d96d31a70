import { makeLink, withLink } from '../../connect/offer.ts';
import { SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { isJsonObject, type Json } from '../../lib/json.ts';
import { connectEnd, elicitationRequired, PATIENCE_MS, type UrlElicitation } from '../scope/elicitation.ts';
import type { Answered, Inputs, InputStep } from '../scope/input.ts';
import type { ToolScope } from '../scope/tool.ts';

/** How long a request waits for a user who opened a link, before the client must call again. */
const WAIT_MS = 20 * SECOND;

/** A link of a connect session. */
interface Link {
  sessionId: string;
  url: string;
  /** Epoch ms. */
  expiresAt: number;
}

/**
 * Creates a link that connects an account. A client that opens links shows it to its user. `action` is the user's
 * answer; undefined when the client opens no links.
 * @throws GatehouseError `redirect_not_allowed`; InputRequired
 */
export async function offerLink(
  scope: ToolScope,
  connectorId: string,
  userId: string,
): Promise<Link & { action?: string }> {
  const { environment, redirectUri } = scope.grant;
  const make = () => makeLink(scope.context, { environment, userId, connectors: [connectorId], redirectUri });
  const { inputs } = scope;
  if (!inputs?.abilities.url) return make();
  const before = inputs.answersOf(stepOf(connectorId));
  const link = linkIn(before?.kept) ?? (await make());
  const answered = before ?? (await inputs.ask(linkStep(scope, connectorId, link)));
  const action = actionOf(answered);
  if (action === 'accept') inputs.announce?.(link.sessionId);
  return { ...link, action };
}

/**
 * Returns the error for a call without an account, with a link where one helps. In a session, clients that open links get
 * the error -32042. Other clients get the link in the tool's result. With MCP 2026-07-28, a client that opens links is
 * asked to open the link and call again. Returns undefined when the account is connected now, so the call can be repeated.
 * @throws InputRequired
 */
export async function refusalWithLink(
  scope: ToolScope,
  connectorId: string,
  error: unknown,
): Promise<{ refusal: unknown } | undefined> {
  const { environment, userId, redirectUri } = scope.grant;
  const { inputs } = scope;
  const opens = inputs?.abilities.url === true;
  if (opens && !inputs.live) {
    const before = lacksAccount(error) ? inputs.answersOf(stepOf(connectorId)) : undefined;
    if (before) {
      const outcome = await outcomeOf(scope, inputs, { connectorId, before });
      if (outcome === 'connected') return undefined;
      if (outcome === 'declined') return { refusal: error };
    }
  }
  const linked = await withLink(scope.context, error, { environment, userId, connectorId, redirectUri });
  // A question would come back after each refusal of the app, because a new sign-in may not give the right.
  if (!(linked instanceof GatehouseError) || !opens || !lacksAccount(linked)) return { refusal: linked };
  const { connectUrl, reconnectUrl, sessionId } = linked.details ?? {};
  const url = connectUrl ?? reconnectUrl;
  if (typeof url !== 'string' || typeof sessionId !== 'string') return { refusal: linked };
  const link = { sessionId, url, expiresAt: 0 };
  if (!inputs.live) {
    // Only the call of a task goes on from here.
    const before = await inputs.ask(linkStep(scope, connectorId, link));
    const outcome = await outcomeOf(scope, inputs, { connectorId, before });
    if (outcome === 'connected') return undefined;
    return { refusal: outcome === 'declined' ? error : linked };
  }
  inputs.announce?.(sessionId);
  return { refusal: elicitationRequired(linked, elicitationOf(scope, connectorId, link)) };
}

/** Waits for a user who opened the link. Asks the client to call again when the user takes longer. */
async function outcomeOf(
  scope: ToolScope,
  inputs: Inputs,
  { connectorId, before }: { connectorId: string; before: Answered },
): Promise<'connected' | 'declined' | 'over'> {
  const link = linkIn(before.kept);
  const action = actionOf(before);
  if (action === 'decline' || action === 'cancel') return 'declined';
  if (!link) return 'over';
  const soon = AbortSignal.timeout(scope.task?.isTask ? PATIENCE_MS : WAIT_MS);
  try {
    const end = await connectEnd(scope.context, link.sessionId, AbortSignal.any([scope.signal, soon]));
    return end === 'succeeded' ? 'connected' : 'over';
  } catch (error) {
    if (!soon.aborted || scope.signal.aborted) throw error;
  }
  await inputs.ask(linkStep(scope, connectorId, link));
  return 'over';
}

function lacksAccount(error: unknown): boolean {
  return (
    error instanceof GatehouseError &&
    (error.code === 'credential_required' || error.code === 'credential_invalid')
  );
}

function stepOf(connectorId: string): string {
  return `connect ${connectorId}`;
}

function linkStep(scope: ToolScope, connectorId: string, link: Link): InputStep {
  const params = { ...elicitationOf(scope, connectorId, link) };
  return {
    step: stepOf(connectorId),
    requests: { link: { method: 'elicitation/create', params } },
    keep: { ...link },
  };
}

function elicitationOf(scope: ToolScope, connectorId: string, link: Link): UrlElicitation {
  const name = scope.context.catalog.connector(scope.grant.environment, connectorId)?.name ?? connectorId;
  return {
    mode: 'url',
    elicitationId: link.sessionId,
    url: link.url,
    message: `Connect your ${name} account.`,
  };
}

function actionOf({ answers }: Answered): string {
  const action = answers['link']?.['action'];
  return typeof action === 'string' ? action : '';
}

function linkIn(kept: Json | undefined): Link | undefined {
  if (!isJsonObject(kept)) return undefined;
  const { sessionId, url, expiresAt } = kept;
  return typeof sessionId === 'string' && typeof url === 'string' && typeof expiresAt === 'number'
    ? { sessionId, url, expiresAt }
    : undefined;
}
