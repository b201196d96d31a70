/* Every sentence of the portal, in English, as page-texts.ts has those of the connect page. */

export const portalTexts = {
  sections: 'Sections',
  connections: 'Connections',
  deliveries: 'Deliveries',

  connectionsTitle: 'Your connections',
  connectionsLead: (brand: string) => `The accounts that ${brand} works with in your name.`,
  noConnections: 'Nothing is connected yet.',
  connectApp: 'Connect an app',
  works: 'Works',
  revoked: 'Access withdrawn',
  used: (time: string) => `Used ${time}`,
  neverUsed: 'Not used yet',
  reasons: {
    needs_reconnect: (brand: string, app: string) =>
      `${app} does not accept the access any more, so ${brand} cannot work with this account.`,
    revoked: (_brand: string, app: string) => `The access was withdrawn at ${app}.`,
  },
  appSays: (text: string) => `The app says: “${text}”`,
  check: 'Test',
  checking: 'Testing …',
  checkedGood: (account: string) => `${account} works.`,
  checkedBad: (account: string, app: string) => `${app} refused ${account}. Please reconnect it.`,
  notCheckable: (account: string, app: string) =>
    `${app} has no call that tests an account, so ${account} was not tested.`,
  connected: (account: string) => `${account} is connected.`,
  more: 'Show more',
  tryAgain: 'Try again',

  deliveriesTitle: 'Your deliveries',
  deliveriesLead: 'Events of your accounts, and how they were sent on.',
  subscription: 'Subscription',
  /** Joins the app, the account, the scope and the receiver. An account may be named after its app. */
  subscriptionName: (parts: string[]) => [...new Set(parts)].filter((part) => part !== '').join(' · '),
  receiver: (host: string) => `Sent to ${host}`,
  active: 'Active',
  disabled: 'Disabled',
  failingSince: (time: string) => `No delivery has succeeded since ${time}.`,
  sourceFailing: 'The app could not be read lately, so changes may be missing.',
  filter: 'Filter by state',
  all: 'All',
  states: { waiting: 'Waiting', succeeded: 'Delivered', dead: 'Failed', cancelled: 'Cancelled' },
  events: { created: 'Created', updated: 'Updated', deleted: 'Deleted', test: 'Test' },
  refresh: 'Refresh',
  noDeliveries: 'There are no deliveries here.',
  attempts: (count: number) => (count === 1 ? '1 attempt' : `${count} attempts`),
  nextAttempt: (time: string) => `Next attempt ${time}`,
  noAttempt: 'No attempt yet.',
  answered: (status: number) => `answered ${status}`,
  /** Failures of an attempt without an answer, by code. */
  failures: {
    redirect: 'was redirected, which is not followed',
    timeout: 'got no answer in time',
    blocked_address: 'went to an address that is not allowed',
    dns: 'found no such host',
    refused: 'found nothing listening there',
    reset: 'lost the connection',
    tls: 'found a certificate that is not valid',
    protocol: 'got an answer that is no HTTP',
    unreachable: 'could not reach the host',
  },
  replay: 'Send again',
  replaying: 'Sending …',
  replayed: 'It is sent again.',
  record: 'Record',
  number: 'Number',
};

/** Returns the word for a code, or the code where there is none. */
export function wordOf(words: Record<string, string>, code: string): string {
  return words[code] ?? code;
}
