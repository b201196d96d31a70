import { createHmac, randomBytes, type KeyObject } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { base62 } from '../lib/ids.ts';
import type { Environment } from '../store/environments.ts';

const SECRET_BYTES = 32;
const SECRET_DIGITS = 43;
const CHECKSUM_DIGITS = 6;
const KEY = /^gh_(dev|prod)_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

const PREFIXES = { development: 'gh_dev_', production: 'gh_prod_' } satisfies Record<Environment, string>;

/** Returns a new API key: prefix, 32 random bytes in base62, and their CRC32. */
export function newApiKey(environment: Environment): string {
  const secret = base62(randomBytes(SECRET_BYTES), SECRET_DIGITS);
  return PREFIXES[environment] + secret + checksum(secret);
}

/** Returns the environment of a well-formed API key, else undefined, so that no other text is looked up in the store. */
export function apiKeyEnvironment(text: string): Environment | undefined {
  const match = KEY.exec(text);
  if (!match?.[2] || checksum(match[2]) !== match[3]) return undefined;
  return match[1] === 'dev' ? 'development' : 'production';
}

/** Returns a new access token of an MCP server: `gh_mcp_` and 32 random bytes in base62. */
export function newAccessToken(): string {
  return `gh_mcp_${base62(randomBytes(SECRET_BYTES), SECRET_DIGITS)}`;
}

export function isAccessToken(text: string): boolean {
  return /^gh_mcp_[0-9A-Za-z]{43}$/.test(text);
}

/**
 * Returns a text for records without tokens. Gatehouse's own keys and access tokens keep their prefix.
 * Any other run of characters that is longer than an id becomes `***`.
 */
export function withoutTokens(text: string): string {
  return text.replaceAll(/gh_(mcp|dev|prod)_[0-9A-Za-z]+/g, 'gh_$1_***').replaceAll(LONGER_THAN_IDS, '***');
}

/** Ids have 27 characters at most, connector ids 32. */
const LONGER_THAN_IDS = /[\w.~+/=-]{40,}/g;

/** Returns 256 random bits in base62, for links, states and browser cookies. */
export function newRandomToken(): string {
  return base62(randomBytes(SECRET_BYTES), SECRET_DIGITS);
}

/** Returns the keyed hash of a key or token for the store. With a copy of the database alone, no guess can be checked. */
export function hashToken(hashKey: KeyObject, token: string): string {
  return createHmac('sha256', hashKey).update(token).digest('base64url');
}

function checksum(secret: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(secret));
  return base62(bytes, CHECKSUM_DIGITS);
}
