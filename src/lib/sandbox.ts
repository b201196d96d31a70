/*
 * What the built-in sandbox and the code that reaches it agree on. All else that Gatehouse knows of the sandbox stands
 * in its connector file.
 */

/**
 * The name under which the sandbox's connector file knows it: at which port we listen shows only at run time. Nothing
 * else answers to it (RFC 6761 section 6.4).
 */
export const SANDBOX_HOST = 'sandbox.invalid';

/** The OAuth client that the sandbox knows from the start: a public one, without a secret. */
export const SANDBOX_CLIENT_ID = 'gatehouse-sandbox';
