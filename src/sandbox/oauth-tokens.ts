import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { DAY, MINUTE, SECOND, type Clock } from '../lib/clock.ts';
import { identityOf, keyOfName } from './accounts.ts';
import { Refusal } from './answers.ts';
import { sameText } from '../lib/same-text.ts';
import { sha256 } from '../lib/sha256.ts';

export const SCOPES = ['read', 'write'] as const;
export type Scope = (typeof SCOPES)[number];

/** A person's consent: an account by its name, and the allowed scopes. */
interface Consent {
  account: string;
  scopes: Scope[];
}

/** The response of RFC 6749 section 5.1, with the account behind the tokens. */
export interface TokenAnswer {
  access_token: string;
  token_type: 'Bearer';
  /** Lifetime in seconds. */
  expires_in: number;
  refresh_token: string;
  scope: string;
  account: { id: string; name: string };
}

/** Issues codes and tokens. A Refusal's `kind` is the `error` of RFC 6749 section 5.2. */
export interface Grants {
  /** Returns a code for the token endpoint: single use, valid for a minute. */
  code(consent: Consent & { redirectUri: string; challenge: string }): string;
  /** Exchanges a code. A code used twice also revokes the tokens made from it. @throws Refusal invalid_grant */
  redeem(code: string, proof: { redirectUri: string; verifier: string }): TokenAnswer;
  /**
   * Refreshes tokens. A refresh token used twice revokes its whole family.
   * @throws Refusal invalid_grant, invalid_scope
   */
  refresh(refreshToken: string, scopes?: string[]): TokenAnswer;
  /** Revokes the tokens of this token's grant (RFC 7009). Ignores unknown tokens. */
  revoke(token: string): void;
  /** Returns the consent of a live access token, or undefined. */
  open(accessToken: string): Consent | undefined;
}

const CODE_MS = 60 * SECOND;
const ACCESS_MS = 5 * MINUTE;
const REFRESH_MS = 30 * DAY;
const MAX_GRANTS = 10_000;

const consent = {
  grant: z.string(),
  account: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  until: z.number(),
};
const codeShape = z.strictObject({ ...consent, redirectUri: z.string(), challenge: z.string() });
const accessShape = z.strictObject(consent);
const refreshShape = z.strictObject({ ...consent, generation: z.int() });

/**
 * Codes and tokens contain their data, signed with `key`, so they survive a restart if the key does.
 * Spent and revoked tokens are recorded in memory, for the 10,000 grants used last.
 * After a restart, a spent refresh token works once more, and a revoked token works until it expires.
 */
export function createGrants({ clock, key }: { clock: Clock; key: Buffer }): Grants {
  const { sign, open } = signer(key);
  /** For each grant: whether it was revoked, and the lowest unspent generation of its refresh tokens. */
  const grants = new Map<string, { revoked: boolean; unspent: number }>();
  const isLive = ({ until }: { until: number }) => clock.now() < until;

  const store = (grant: string, state: { revoked: boolean; unspent: number }) => {
    grants.delete(grant);
    grants.set(grant, state);
    if (grants.size > MAX_GRANTS) grants.delete(grants.keys().next().value ?? '');
  };
  const end = (grant: string) => store(grant, { revoked: true, unspent: 0 });

  const answer = (
    { grant, account, scopes }: Consent & { grant: string },
    generation: number,
    granted: Scope[] = scopes,
  ): TokenAnswer => {
    store(grant, { revoked: false, unspent: generation });
    const now = clock.now();
    return {
      access_token: sign('access', { grant, account, scopes: granted, until: now + ACCESS_MS }),
      token_type: 'Bearer',
      expires_in: ACCESS_MS / SECOND,
      refresh_token: sign('refresh', { grant, account, scopes, until: now + REFRESH_MS, generation }),
      scope: granted.join(' '),
      account: { id: identityOf(keyOfName(account)), name: account },
    };
  };

  return {
    code: (consented) =>
      sign('code', {
        ...consented,
        grant: randomBytes(16).toString('base64url'),
        until: clock.now() + CODE_MS,
      }),
    redeem(text, { redirectUri, verifier }) {
      const code = open('code', codeShape, text);
      if (!code) throw invalidGrant('The code is unknown.');
      if (grants.has(code.grant)) {
        end(code.grant);
        throw invalidGrant('The code was used before. The tokens that were made from it have ended.');
      }
      if (!isLive(code)) throw invalidGrant('The code is older than a minute.');
      if (code.redirectUri !== redirectUri) {
        throw invalidGrant('redirect_uri is not the one that the code was made for.');
      }
      if (sha256(verifier) !== code.challenge) {
        throw invalidGrant('code_verifier does not fit the code_challenge.');
      }
      return answer(code, 0);
    },
    refresh(text, scopes) {
      const token = open('refresh', refreshShape, text);
      if (!token) throw invalidGrant('The refresh token is unknown.');
      const known = grants.get(token.grant);
      if (known?.revoked) throw invalidGrant('The refresh token was revoked.');
      if (known && token.generation < known.unspent) {
        end(token.grant);
        throw invalidGrant('The refresh token was used before. All tokens of its family have ended.');
      }
      if (!isLive(token)) throw invalidGrant('The refresh token is older than 30 days.');
      const granted = token.scopes.filter((scope) => scopes?.includes(scope) ?? true);
      if (scopes && granted.length !== new Set(scopes).size) {
        throw new Refusal({ status: 400, kind: 'invalid_scope' }, 'scope asks for more than was allowed.');
      }
      return answer(token, token.generation + 1, granted);
    },
    revoke(text) {
      const token = open('refresh', refreshShape, text) ?? open('access', accessShape, text);
      if (token) end(token.grant);
    },
    open(text) {
      const token = open('access', accessShape, text);
      return token && isLive(token) && !grants.get(token.grant)?.revoked ? token : undefined;
    },
  };
}

/**
 * Returns functions for texts that only the holder of the key can make: `<kind>.<JSON>.<HMAC-SHA256>`, in base64url.
 */
export function signer(key: Buffer) {
  const macOf = (head: string) => createHmac('sha256', key).update(head).digest('base64url');
  return {
    sign(kind: string, value: unknown): string {
      const head = `sbx_${kind}.${Buffer.from(JSON.stringify(value)).toString('base64url')}`;
      return `${head}.${macOf(head)}`;
    },
    /** Returns the value of a text of that kind that this key signed, else undefined. */
    open<T>(kind: string, shape: z.ZodType<T>, text: string): T | undefined {
      const [prefix = '', payload = '', mac = ''] = text.split('.');
      const head = `${prefix}.${payload}`;
      if (prefix !== `sbx_${kind}` || text !== `${head}.${mac}` || !sameText(mac, macOf(head)))
        return undefined;
      // Another version of Gatehouse, with other members, may have signed it.
      return shape.safeParse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))).data;
    },
  };
}

function invalidGrant(message: string): Refusal {
  return new Refusal({ status: 400, kind: 'invalid_grant' }, message);
}
