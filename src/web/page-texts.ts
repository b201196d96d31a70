import type { Problem } from './api.ts';

/*
 * Every sentence of the connect page, in English. A translation is a second object of this shape. Names of
 * applications, apps and users are arguments; sentences of the third party are shown unchanged.
 */

export const texts = {
  language: 'en',
  loading: 'Loading',
  close: 'Close',
  back: 'Back to the apps',
  cancel: 'Cancel',
  tryAgain: 'Try again',
  done: 'Done',

  chooseTitle: 'Connect an app',
  chooseLead: (brand: string) => `Choose the app that ${brand} should work with.`,
  search: 'Search apps',
  categories: 'Categories',
  allCategories: 'All',
  /** Turns a category's id into words; short ids are abbreviations. */
  category: (category: string) =>
    category.length <= 3
      ? category.toUpperCase()
      : category.replaceAll('_', ' ').replace(/^./, (first) => first.toUpperCase()),
  found: (count: number) => (count === 1 ? '1 app' : `${count} apps`),
  foundNothing: (words: string) => `No app matches “${words}”.`,
  clearSearch: 'Show all apps',
  appConnected: 'Connected',
  noApps: 'There is no app to connect here. Please tell the people who run this application.',

  connectTitle: (app: string) => `Connect ${app}`,
  reconnectTitle: (app: string) => `Reconnect ${app}`,
  askTitle: (brand: string, app: string) => `${brand} wants to connect your ${app} account`,
  askAgainTitle: (brand: string, app: string) => `${brand} wants to reconnect your ${app} account`,
  connectLead: (brand: string, app: string) => `${brand} will work with your ${app} account in your name.`,
  reconnectLead: (brand: string, account: string) =>
    `${brand} renews its access to ${account}. Sign in to the same account again; everything that uses it goes on.`,
  connectAs: 'You connect as ',
  notYou: 'Not you? Then close this page.',
  ways: 'How do you want to connect?',
  notReady: (app: string) =>
    `Signing in to ${app} is not set up here yet. Please tell the people who run this application.`,
  scopes: 'What will be asked for',
  whereToFind: 'Where do I find this?',
  continueTo: (app: string) => `Continue to ${app}`,
  connect: (app: string) => `Connect ${app}`,
  checking: 'Checking with the app …',
  opening: (app: string) => `Opening ${app} …`,
  storedEncrypted: 'Stored encrypted',

  pickTitle: (app: string) => `Which ${app} account?`,
  pickLead: (brand: string, app: string) =>
    `You gave access to several accounts at ${app}. Choose the one that ${brand} should work with.`,
  searchAccounts: 'Search accounts',
  accountsFound: (count: number) => (count === 1 ? '1 account' : `${count} accounts`),
  accountsTitle: (app: string, count: number) =>
    count === 1 ? `Your ${app} account` : `Your ${app} accounts`,
  accountsLead: (count: number) =>
    count === 1 ? 'You have connected this account already.' : 'You have connected these accounts already.',
  accountDefault: 'Default',
  accountLost: 'Needs reconnecting',
  connectedAt: (time: string) => `Connected ${time}`,
  useAccount: 'Use this account',
  makeDefault: 'Make default',
  reconnect: 'Reconnect',
  disconnect: 'Disconnect',
  isDefault: (account: string) => `${account} is the default account now.`,
  disconnected: (account: string) => `${account} is disconnected.`,
  disconnectTitle: (account: string) => `Disconnect ${account}?`,
  disconnectLead: (brand: string, app: string) =>
    `${brand} loses its access to this ${app} account, and everything that uses the account stops.`,
  backToAccounts: 'Back to the accounts',

  goBack: 'Back',
  installTitle: (workflow: string) => `Set up “${workflow}”`,
  installLead: (brand: string) => `${brand} runs this for you, with what you choose here.`,
  changeLead: (brand: string) =>
    `${brand} runs this for you already. What you change here counts from the next run on.`,
  install: 'Set up',
  save: 'Save',
  saving: 'Saving …',
  accounts: 'Accounts',
  accountOf: (app: string) => `${app} account`,
  connectAnother: (app: string) => `Connect another ${app} account`,
  accountMissing: (app: string) => `Please connect an account of ${app} first.`,
  installedTitle: (workflow: string) => `“${workflow}” is set up`,
  installedLead: (brand: string) => `${brand} runs it for you from now on.`,
  yes: 'Yes',
  no: 'No',

  optional: 'optional',
  choose: 'Choose …',
  show: (field: string) => `Show ${field}`,
  hide: (field: string) => `Hide ${field}`,
  faults: {
    required: (field: string) => `Please fill in: ${field}.`,
    tooLong: (most: number) => `That is too long: ${most.toLocaleString('en')} characters at most.`,
    lines: 'This must be a single line. Was it copied with the end of its line?',
    pattern: (field: string, example: string | undefined) =>
      example === undefined
        ? `This does not look right for: ${field}.`
        : `This does not look right. It looks like this: ${example}`,
    hostname: 'Only the name of the host, without https:// and without a path: shop.example.com',
    uri: 'The whole address, beginning with https://',
    email: 'An e-mail address, such as name@example.com',
    json: 'This must be JSON, such as ["one", "two"].',
    other: (rule: string) =>
      `${rule.replace(/^./, (first) => first.toUpperCase())}${/[.?!]$/.test(rule) ? '' : '.'}`,
  },

  waitingTitle: (app: string) => `Finish in the window of ${app}`,
  waitingLead: (app: string) => `We wait here until you have signed in to ${app} and agreed.`,
  goneLead: 'If its window is gone, open it again.',
  openAgain: 'Open the window again',
  blockedTitle: 'Your browser blocked the window',
  blockedLead: (app: string) => `${app} asks you in a window of its own. Go there from here instead.`,
  blockedHere: (app: string) => `Go to ${app} and come back`,
  blockedTab: (app: string) => `Open ${app} in a new tab`,

  successTitle: (app: string) => `${app} is connected`,
  successLead: (app: string, brand: string) => `${brand} can use your ${app} account now.`,
  mayClose: 'You can close this window.',
  takingBack: (brand: string) => `Taking you back to ${brand} …`,

  closedTitle: 'Nothing was connected',
  failedTitle: 'That did not work',
  /** Used where a name is not known. */
  theService: 'The application',
  anApp: 'the app',
  anAccount: 'The account',
  tookTooLong: 'This took too long, and nothing was connected. Please begin again.',
  failedGeneric: 'Something went wrong. Please try again.',
  notEmbedded: 'This page opens inside an application. It does nothing on its own.',
  /** Results of values that were tried at the app, by error code. `appText` is the app's message. */
  refusals: {
    credential_invalid: (app: string, appText: string | undefined) =>
      appText === undefined
        ? `${app} did not accept this. Check that it is complete, still valid, and may read the account.`
        : `${app} did not accept this. It says: “${appText}”`,
    upstream_rejected: (app: string, appText: string | undefined) =>
      appText === undefined
        ? `${app} refused this. Check what you entered.`
        : `${app} refused this. It says: “${appText}”`,
    upstream_failed: (app: string) =>
      `${app} does not work as it should just now. Please try again in a moment.`,
    upstream_timeout: (app: string) => `${app} did not answer in time. Please try again in a moment.`,
    upstream_rate_limited: (app: string) =>
      `${app} limits its requests at the moment. Please try again in a minute.`,
  },
  /** Sentences by error code. Other codes show the sentence of the service. */
  failures: {
    access_denied: (brand: string, app: string) =>
      `You did not give ${brand} access to ${app}, so nothing was connected.`,
    closed: () => 'Nothing was connected.',
    provider_refused: (_brand: string, app: string) =>
      `${app} could not sign you in. Try again; if it stays so, tell the people who run this application.`,
    provider_failed: (_brand: string, app: string) =>
      `${app} did not answer as it should, and nothing was connected. Please try again in a moment.`,
    account_mismatch: (_brand: string, app: string) =>
      `You signed in to another ${app} account than the one that is connected here. Sign in to that one, or connect the other as a new account.`,
    no_account: (_brand: string, app: string) =>
      `You allowed access to ${app}, but not to any account there, so nothing was connected. Try again, and choose an account where ${app} asks for it.`,
    oauth_app_missing: (_brand: string, app: string): string => texts.notReady(app),
    unauthorized: (brand: string) =>
      `Your sign-in to ${brand} is not valid here any more. Reload the page and try again.`,
    token_expired: (brand: string) => `Your sign-in to ${brand} has ended. Reload the page and try again.`,
    connect_session_not_found: () => 'This link is not valid. Please ask for a new one.',
    connect_session_expired: () =>
      'This link was used already, or it is older than 15 minutes. Please ask for a new one.',
    connect_session_taken: () =>
      'This link was opened in another browser, and works only there. If that was not you, ask for a new one.',
    oauth_state_invalid: () =>
      'This sign-in is not valid any more: it was used, replaced by a newer one, or took longer than ten minutes. Go back to where you came from and connect again.',
    user_not_found: () => 'This user does not exist any more.',
    rate_limited: () => 'Too many attempts at once. Wait a minute and try again.',
    unreachable: (brand: string) => `${brand} cannot be reached. Is your network up? Then try again.`,
    internal: () => 'Something went wrong on our side. Please try again.',
  },
};

/** Returns the sentence for an error: ours by its code, else the one of the service. */
export function failureText(problem: Pick<Problem, 'code' | 'message'>, brand: string, app = ''): string {
  const known = Object.entries(texts.failures).find(([code]) => code === problem.code)?.[1];
  return known?.(brand, app) ?? (problem.message || texts.failedGeneric);
}

/** Returns the sentence for values that were refused. */
export function refusalText(problem: Problem, brand: string, app: string): string {
  const known = Object.entries(texts.refusals).find(([code]) => code === problem.code)?.[1];
  return known?.(app, problem.appText) ?? failureText(problem, brand, app);
}
