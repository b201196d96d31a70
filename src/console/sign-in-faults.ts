const WORDS: Record<string, string> = {
  cancelled: 'The sign-in was cancelled at the provider.',
  stale: 'This sign-in was begun too long ago or in another browser, or it was used already. Begin again.',
  no_role:
    'The provider knows you, but you have no role in this console. Ask an owner of Gatehouse: GATEHOUSE_OIDC must name one of your groups.',
  unreachable: 'The sign-in provider did not answer. Try again in a minute, or sign in with an API key.',
  misconfigured:
    'The sign-in provider refuses this Gatehouse. Its operator must check the client id, the client secret and the redirect address.',
  invalid:
    'The answer of the sign-in provider could not be trusted. Begin again. If it stays so, the log has the reason.',
};

/** Returns why the last sign-in at the provider failed, as the address of the page says; empty when it did not. */
export function signInFault(search: string): string {
  const values = new URLSearchParams(search);
  const fault = values.get('sign-in');
  const words = fault === null ? undefined : WORDS[fault];
  if (words === undefined) return '';
  const request = values.get('request') ?? '';
  // Everyone can write such an address, so no text of it is shown but an id.
  return /^[\w-]{1,64}$/.test(request) && fault !== 'cancelled' ? `${words} Request: ${request}` : words;
}
