import { isObject, objectOf, textOf, textsOf, type JsonObject } from './json-values.ts';

/*
 * The facts of a result as the server writes them (src/mcp/tools/view-facts.ts). An app may write a result of any likeness, so
 * links and questions come from here alone.
 */

export interface AppFacts {
  connectorId: string;
  name: string;
  letter: string;
  color: string;
  /** Colour of the letter. */
  ink: string;
}

/** How an account is connected. */
export interface ConnectFacts {
  url: string;
  ways: { title: string; fields: string[] }[];
  /** Ids of accounts that worked before. */
  known: string[];
  /** The account that signs in again because it lacks a right, and the time of its last change. */
  again: { credentialId: string; since: string } | undefined;
}

export interface ShownFacts {
  /** Name of the tool. */
  tool: string | undefined;
  failed: boolean;
  app: AppFacts | undefined;
  /** `pages`: whether a call for the next page is safe. */
  action: { name: string; pages: boolean } | undefined;
  question: string | undefined;
  /** The action or tool of the question, by its ids. */
  subject: string | undefined;
  connect: ConnectFacts | undefined;
}

export function factsOf({ _meta: meta, isError }: JsonObject): ShownFacts {
  const { tool, failed, app, action, question, subject, connect } = objectOf(
    objectOf(meta)['gatehouse/view'],
  );
  return {
    tool: textOf(tool),
    failed: failed === true || isError === true,
    app: isObject(app) ? appOf(app) : undefined,
    action: isObject(action)
      ? { name: textOf(action['name']) ?? '', pages: action['pages'] === true }
      : undefined,
    question: textOf(question),
    subject: textOf(subject),
    connect: isObject(connect) ? connectOf(connect) : undefined,
  };
}

function appOf({ connectorId, name, letter, color, ink }: JsonObject): AppFacts {
  const id = textOf(connectorId) ?? '';
  return {
    connectorId: id,
    name: textOf(name) ?? id,
    letter: textOf(letter) ?? '?',
    color: textOf(color) ?? 'inherit',
    ink: textOf(ink) ?? 'inherit',
  };
}

function connectOf({ url, ways, known, again }: JsonObject): ConnectFacts | undefined {
  const address = textOf(url);
  if (address === undefined || !/^https?:\/\//.test(address)) return undefined;
  return {
    url: address,
    ways: (Array.isArray(ways) ? ways : []).map((way) => {
      const { title, fields } = objectOf(way);
      return { title: textOf(title) ?? '', fields: textsOf(fields) };
    }),
    known: textsOf(known),
    again: isObject(again)
      ? { credentialId: textOf(again['credentialId']) ?? '', since: textOf(again['since']) ?? '' }
      : undefined,
  };
}
