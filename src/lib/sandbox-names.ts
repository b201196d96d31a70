/*
 * Names that the built-in sandbox and its callers share. Everything else about the sandbox is in its connector file.
 */

/**
 * Host name of the sandbox in its connector file, because our port is known only at run time. No other server answers
 * to it (RFC 6761 section 6.4).
 */
export const SANDBOX_HOST = 'sandbox.invalid';

/** The OAuth client that the sandbox knows from the start: a public one, without a secret. */
export const SANDBOX_CLIENT_ID = 'gatehouse-sandbox';
