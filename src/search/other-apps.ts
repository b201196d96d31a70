import type { ConnectorActions } from '../connectors/catalog.ts';

/**
 * Well-known apps without a shipped connector. Names that are also usual words in one of the five languages (Box, Tableau,
 * Wise), names of people (Jenkins) and of file formats (Excel) are left out.
 */
const NAMES = `
ActiveCampaign, Adyen, Airtable, Algolia, Amazon, Amplitude, Asana, Auth0, AWS, Azure, Azure DevOps, BambooHR, Basecamp, Bexio, BigQuery,
Bitbucket, Bluesky, Braintree, Brevo, Calendly, Canva, Chargebee, CircleCI, ClickUp, Cloudflare, Confluence, Constant Contact, Contentful,
ConvertKit, Databricks, Datadog, DATEV, Deel, Discord, DocuSign, Dynamics 365, eBay, Elasticsearch, Etsy, Evernote, Exact Online, Facebook,
Figma, Firebase, FreshBooks, Freshdesk, Freshsales, Freshservice, GoCardless, Google Ads, Google Analytics, Google Forms, Gorgias, Grafana,
Help Scout, Heroku, Holded, Instagram, Intercom, Jira, Klarna, Klaviyo, Lexoffice, Linear, LinkedIn, Mailchimp, Mailgun, Magento,
Mastodon, Mattermost, Metabase, Microsoft Teams, MS Teams, Mixpanel, monday.com, MongoDB, MySQL, n8n, Netlify, NetSuite,
New Relic, Nextcloud, Odoo, Okta, OneDrive, OneNote, Opsgenie, PagerDuty, PandaDoc, PayPal, Pennylane, Personio, Pinterest, Pipedrive,
PostgreSQL, PostHog, PrestaShop, Razorpay, Recurly, Reddit, Sage Intacct, SAP, SendGrid, Sentry, ServiceNow, sevDesk, SharePoint, Shopware,
Smartsheet, Snowflake, Splunk, Squarespace, Supabase, SurveyMonkey, Telegram, TikTok, Todoist, Trello, Twilio, Twitter, Typeform,
Vercel, Webex, Webflow, WhatsApp, Wix, WordPress, Wrike, YouTube, Zapier, Zendesk, Zoho
`;

/** Names by their key. */
const BY_KEY = new Map(
  NAMES.trim()
    .split(/,\s+/)
    .map((name) => [keyOf(name), name]),
);
/** Longest first, so that `Azure DevOps` is found before `Azure`. */
const ANY_NAME = patternOf(
  [...BY_KEY.keys()].toSorted((a, b) => b.length - a.length),
  'giu',
);
/** The domain of an e-mail address names no app: `write to ada@gmail.com`. */
const DOMAIN = /(?<=[\p{L}\p{N}])@[\p{L}\p{N}.-]+/gu;

/**
 * Finds the well-known apps in a query that no connector is for and no action mentions. Returns their names, and the query
 * without them and without the domains of e-mail addresses: a search would take `discord` for a misspelt `discard`, and `PayPal`
 * for a payment.
 */
export function withoutOtherApps(
  query: string,
  connectors: readonly ConnectorActions[],
): { rest: string; others: string[] } {
  const others = new Set<string>();
  const rest = query.replaceAll(DOMAIN, ' ').replaceAll(ANY_NAME, (said) => {
    const name = BY_KEY.get(keyOf(said)) ?? said;
    if (!others.has(name) && isMentioned(name, connectors)) return said;
    others.add(name);
    return ' ';
  });
  return { rest, others: [...others] };
}

function isMentioned(name: string, connectors: readonly ConnectorActions[]): boolean {
  const pattern = patternOf([name], 'iu');
  return connectors.some(
    ({ connector, actions }) =>
      pattern.test(connector.name) ||
      actions.some((action) => pattern.test(`${action.name}. ${action.description}`)),
  );
}

/** Returns a pattern for any of these names as whole words. */
function patternOf(names: readonly string[], flags: string): RegExp {
  const texts = names.map((name) => name.replaceAll('.', '\\.').replaceAll(' ', '\\s+'));
  return new RegExp(`(?<![\\p{L}\\p{N}])(?:${texts.join('|')})(?![\\p{L}\\p{N}])`, flags);
}

/** Returns a name in lower case, and with single blanks. */
function keyOf(name: string): string {
  return name.replaceAll(/\s+/g, ' ').toLowerCase();
}
