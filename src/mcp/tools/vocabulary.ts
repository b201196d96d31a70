import { stemOf, wordsOf } from '../../lib/words.ts';

/*
 * Words that people use for the same thing, in all apps. Words for one action only stand in the `synonyms` of its
 * connector file.
 * A line begins with the name of the thing. A phrase matches only as a whole. Other words may be at its `…`.
 */
const THINGS = `
customer: customer, client, buyer, shopper, patron, payer, purchaser
supplier: supplier, vendor, seller
contact: contact, person, people, lead, prospect, address book
company: company, organization, organisation, firm, business, employer, account
user: user, member, teammate, colleague, employee, staff, team, coworker, people, seat
order: order, purchase, sale, buy, bought, sell, sold
item: item, product, article, goods, merchandise, sku, catalog, catalogue, listing
variant: variant, variation, size, option
stock: stock, inventory, quantity, available, left, count, counted, shelf, warehouse, in stock
price: price, cost, rate, pricing, charge
shop: shop, store, storefront
location: location, branch, address, place, site
shipment: shipment, shipping, parcel, package, delivery, tracking, fulfillment, fulfilment, dispatch, shipped
invoice: invoice, bill
bill: bill, expense, payable
payment: payment, charge, transaction, pay, paid, card payment, receipt, takings, sell, sold, sale
refund: refund, pay back, pay … back, money back, paid back, give … back, reimburse, repay, return
subscription: subscription, subscribe, subscriber, plan, recurring, membership, billing
estimate: estimate, quote, quotation, offer, proposal
balance: balance, funds, money
report: report, statement, profit and loss, balance sheet, trial balance, p l
profit: profit, profit and loss, loss, p l, make money, making money, earn, earnings, income, how did we do, revenue
balance sheet: balance sheet, assets, liabilities, net worth, own and owe, owns and owes
overdue: overdue, late, owe, owed, owing, unpaid, outstanding, receivable, debt, due
tax: tax, vat, gst, duty
bank: bank, bank account, bank transaction
deal: deal, opportunity, sales opportunity, sale
ticket: ticket, case, support request, complaint, help request, support
lead: lead, prospect
pipeline: pipeline, stage, funnel
task: task, to do, todo, reminder, remind, follow up
note: note, remark, memo, log
comment: comment, remark, reply, feedback, note
message: message, post, chat, dm, text, say, said, saying, talk, talked
mail: mail, email, e mail, message, inbox, letter
thread: thread, conversation, discussion, reply
channel: channel, room, group
attachment: attachment, attach, enclosed, file
label: label, tag, category, folder
draft: draft, prepare, unsent
trash: trash, bin, recycle bin, deleted
reaction: reaction, emoji, react, thumbs up, like
event: event, meeting, appointment, booking, date, call, entry
meeting: meeting, call, session, video call, conference, event
webinar: webinar, seminar
participant: participant, attendee, guest, invitee, attend, registrant, attendance, showed up
registrant: registrant, sign up, signed up, registered, register, attendee
recording: recording, transcript, record, recorded, video
invitation: invitation, invite
calendar: calendar, schedule, diary, agenda
free: free, busy, availability, available, free slot, free time
absence: absence, out of office, vacation, holiday, away, automatic reply, auto reply
file: file, document, doc, spreadsheet, sheet, pdf, presentation
folder: folder, directory
storage: storage, space, room, quota, disk
permission: permission, access, right, sharing, share, can see, can edit
link: link, url, address
version: version, revision, history
page: page, document, wiki, note
table: table, database, data source, tracker
block: block, paragraph, checkbox, bullet, tick
repository: repository, repo, project, codebase
issue: issue, bug, bug report, ticket, defect
pull request: pull request, merge request, pr, mr, code review
branch: branch
commit: commit, change, changeset
diff: diff, changed files, changes, patch
release: release, version, publish
build: build, ci, workflow run, job, pipeline, deploy, deployment, test run
field: field, column, property, attribute
code: code, source
limit: limit, allowance, quota
`;

/*
 * Words that people use for the kinds of work of actions. kindsOf() derives an action's own kind from its effect
 * and method.
 */
const WORK = `
read: show, say, tell, see, view, display, what, which, who, where, when, how, tell me, give me, check, look, any, find out, read, is there, do i have, get, whose, why
list: list, all, every, browse, overview, enumerate, which, many, any, latest, recent, last
search: search, find, look for, look up, lookup, locate, query, where
create: create, add, make, new, open, set up, start, write, put, insert, register, log, record, enter, file, book, place, build, issue, plan, save, prepare, sign up
update: update, change, edit, modify, rename, set, move, correct, fix, adjust, mark, replace, raise, lower, reschedule, push back, assign, approve, close, reopen, turn, tick
delete: delete, remove, erase, wipe, get rid of, drop, discard, destroy, take … off, clear, scrap, throw … away, threw … away, purge, bin
cancel: cancel, call … off, abort, void, stop, end, terminate, revoke, unsubscribe, quit, scrap, withdraw
send: send, deliver, dispatch, forward, email, mail, tell, notify, let … know, post, message, write
forward: forward, pass … on, relay, hand … on
reply: reply, answer, respond, response
restore: restore, recover, bring … back, undo, undelete, get … back, take … out, go back, by mistake, by accident, accidentally
download: download, export, fetch, pull, content, get
upload: upload, import, save, put
share: share, give … access, let … see, let … edit, let … read, publish, visible
revoke: revoke, stop … seeing, stop sharing, unshare, take … right, remove … access, no longer see
copy: copy, duplicate, clone
run: run, start, trigger, kick off, launch, execute, deploy
retry: retry, rerun, again, repeat
move: move, put … into, put … under, file … under, transfer, relocate
archive: archive, close, shut down, hide
merge: merge, accept, land
schedule: schedule, later, tomorrow, set up, plan, book
`;

/** Words without meaning for a search. They are removed after phrases are matched. */
const STOP_WORDS = new Set(
  (
    'a about again all also am an and any are as at be because been but by can could did do does doing for from had has have ' +
    'he her here him his i if in into is it its just let like may me mine much my need no not now of off on one only or our ' +
    'ours out over please she should so some somebody someone something than thank thanks that the their them then there ' +
    'these they thing this those to today tomorrow too up us very want was we were will with would yesterday you your'
  ).split(' '),
);

/** A word, or several words that form a phrase. */
export interface Part {
  /** Stems. */
  words: readonly string[];
  /** Terms of the index for its concepts. */
  concepts: readonly string[];
  /** Whether it holds only stop words. */
  empty: boolean;
}

interface Phrase {
  words: readonly string[];
  /** Other words may stand between them. */
  gapped: boolean;
  concepts: string[];
}

/** Words that may stand in the gap of a phrase: `take the old mug off`. */
const MAX_GAP = 5;

/** Phrases by their first stem, longest first, and the concepts that are kinds of work. */
interface PhraseIndex {
  phrases: ReadonlyMap<string, readonly Phrase[]>;
  works: ReadonlySet<string>;
}

let index: PhraseIndex | undefined;

/** Reads the phrases at the first search, because reading them would take a tenth of the start. */
function phraseIndex(): PhraseIndex {
  return (index ??= {
    phrases: phrasesOf(`${THINGS}${WORK}`),
    works: new Set(WORK.split('\n').map((line) => conceptTerm(line.split(':')[0] ?? ''))),
  });
}

/** Returns the positions of a phrase's words, from `at` on; undefined when the phrase does not match. */
function positionsOf({ words, gapped }: Phrase, stems: readonly string[], at: number): number[] | undefined {
  const positions: number[] = [];
  let next = at;
  for (const word of words) {
    const maxGap = gapped && positions.length > 0 ? MAX_GAP : 0;
    const place = stems.slice(next, next + maxGap + 1).indexOf(word);
    if (place === -1) return undefined;
    positions.push(next + place);
    next += place + 1;
  }
  return positions;
}

/**
 * Returns the concepts and stems of a text. Uses the longest phrase at each word. A word belongs to one phrase only.
 */
export function parseText(text: string) {
  const { phrases: known, works } = phraseIndex();
  const words = wordsOf(text);
  const stems = words.map(stemOf);
  const used = new Set<number>();
  const parts: Part[] = [];
  for (const [at, stem] of stems.entries()) {
    if (used.has(at)) continue;
    const phrases = known.get(stem) ?? [];
    const found = phrases
      .map((phrase) => ({ phrase, positions: positionsOf(phrase, stems, at) }))
      .find(({ positions }) => positions?.every((place) => !used.has(place)));
    const positions = found?.positions ?? [at];
    for (const place of positions) used.add(place);
    parts.push({
      words: positions.map((place) => stems[place] ?? ''),
      concepts: found?.phrase.concepts ?? [],
      empty: positions.every((place) => STOP_WORDS.has(words[place] ?? '')),
    });
  }
  const concepts = parts.flatMap((part) => part.concepts);
  return {
    parts,
    /** Stems without stop words. */
    stems: parts.flatMap((part) => (part.empty ? [] : part.words)),
    concepts,
    /** Whether a word names a kind of work. */
    hasWork: concepts.some((concept) => works.has(concept)),
  };
}

/** Returns a concept as a term of the index. Stems have no underscore, so the two cannot collide. */
export function conceptTerm(name: string): string {
  return `c_${wordsOf(name).join('_')}`;
}

function phrasesOf(text: string): Map<string, Phrase[]> {
  const byText = new Map<string, Phrase>();
  for (const line of text.split('\n')) {
    const [name, list] = line.split(': ');
    if (!name || !list) continue;
    for (const entry of list.split(', ')) {
      const words = wordsOf(entry).map(stemOf);
      const key = entry.includes('…') ? words.join(' … ') : words.join(' ');
      const phrase = byText.get(key) ?? { words, gapped: entry.includes('…'), concepts: [] };
      phrase.concepts.push(conceptTerm(name));
      byText.set(key, phrase);
    }
  }
  const byFirst = new Map<string, Phrase[]>();
  for (const phrase of byText.values()) {
    const [first = ''] = phrase.words;
    const others = byFirst.get(first) ?? [];
    byFirst.set(
      first,
      [...others, phrase].sort((a, b) => b.words.length - a.words.length),
    );
  }
  return byFirst;
}
